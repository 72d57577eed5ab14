// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.runtime.fakes.DomainDevice;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Bursts as an application sees them. */
class BurstTest {
  private static final long PATIENCE_SECONDS = 60;
  private static final int EACH = 500;
  private static final int FRAMES = 10_000;
  private static final int UPDATES = 20;

  private final LimitedDevice adder = LimitedDevice.of("adder", 0.5, OperationCode.ADD);
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final TestRuntime runtime = TestRuntime.of(adder, cpu);

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, adder.open() + cpu.open(), "prepared models left open");
    assertEquals(0, runtime.burstService.open(), "bursts left open");
  }

  private Compilation compile() throws Exception {
    return runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT);
  }

  private static ExecutionReport execute(Compilation compilation, Burst burst) {
    float[] result = new float[4];
    ExecutionReport report = Graphs.addThenMulExecution(compilation, result).burstCompute(burst);
    if (report.isSuccess()) {
      assertArrayEquals(Graphs.addThenMulResult(), result);
    }
    return report;
  }

  @Test
  void executionsByBurstGiveTheSameResult() throws Exception {
    Compilation compilation = compile();
    try (Burst burst = compilation.createBurst()) {
      for (int i = 0; i < 100; i++) {
        ExecutionReport report = execute(compilation, burst);
        assertTrue(report.isSuccess(), report.message());
        assertEquals(List.of("adder", "cpu"), Graphs.ranOn(report));
      }
      assertEquals(100, burst.describe().executions());
      assertEquals(200, burst.describe().sent());
      assertEquals(Map.of(), burst.describe().fallbacks());
      assertEquals(200, burst.describe().received());
      assertEquals(2, runtime.burstService.opened(), "one for each step");
    }
    assertEquals(0, runtime.burstService.open());
  }

  @Test
  void reportsSayWhatWentByBurst() throws Exception {
    Compilation compilation = compile();
    try (Burst burst = compilation.createBurst()) {
      assertEquals(List.of(true, true), byBurst(execute(compilation, burst)));
    }
    assertEquals(
        List.of(false, false),
        byBurst(Graphs.addThenMulExecution(compilation, new float[4]).compute()));
  }

  private static List<Boolean> byBurst(ExecutionReport report) {
    return report.steps().stream().map(ExecutionReport.StepReport::byBurst).toList();
  }

  @Test
  void stepsGoSynchronouslyWhereNoBurstCanBeOpened() throws Exception {
    Compilation compilation = compile();
    runtime.burstService.refuse(true);
    try (Burst burst = compilation.createBurst()) {
      assertEquals(List.of(false, false), byBurst(execute(compilation, burst)));
      assertEquals(
          Map.of(
              "no burst can be opened on adder: no room for queues", 1L,
              "no burst can be opened on cpu: no room for queues", 1L),
          burst.describe().fallbacks());
      assertEquals(0, burst.describe().sent());
    }
  }

  @Test
  void aBurstThatBreaksIsRepeatedElsewhereAndOpenedAnew() throws Exception {
    Compilation compilation = compile();
    try (Burst burst = compilation.createBurst()) {
      assertTrue(execute(compilation, burst).isSuccess());
      runtime.burstService.breakNext();
      ExecutionReport report = execute(compilation, burst);
      assertTrue(report.isSuccess(), report.message());
      assertEquals(List.of("adder", "cpu", "cpu"), Graphs.ranOn(report));
      assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.steps().get(0).code());
      assertEquals(List.of(true, false, true), byBurst(report));
      assertEquals(Map.of("repeated on cpu", 1L), burst.describe().fallbacks());
      report = execute(compilation, burst);
      assertEquals(List.of(true, true), byBurst(report));
      assertEquals(List.of("adder", "cpu"), Graphs.ranOn(report));
      assertEquals(3, runtime.burstService.opened());
    }
  }

  @Test
  void aBurstFollowsThePlan() throws Exception {
    Compilation compilation = compile();
    LimitedDevice faster = LimitedDevice.all("faster", 0.1);
    try (Burst burst = compilation.createBurst()) {
      assertEquals(List.of("adder", "cpu"), Graphs.ranOn(execute(compilation, burst)));
      runtime.add(faster);
      Eventually.that("it is planned again", () -> !compilation.isReplanning());
      ExecutionReport report = execute(compilation, burst);
      assertEquals(List.of("faster"), Graphs.ranOn(report));
      assertEquals(List.of(true), byBurst(report));
      assertEquals(1, runtime.burstService.open(), "those of the old plan are closed");
      runtime.remove(faster);
      Eventually.that("it is planned again", () -> !compilation.isReplanning());
      assertEquals(List.of(true, true), byBurst(execute(compilation, burst)));
      assertEquals(0, faster.open());
      assertEquals(Map.of(), burst.describe().fallbacks());
    }
  }

  @Test
  void noMoreExecutionsAtOnceThanTheDepthAllows() throws Exception {
    int depth = 3;
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch gate = new CountDownLatch(1);
    FaultyDevice slow = new FaultyDevice(LimitedDevice.floats("slow", 0.1));
    slow.onExecute(
        (request, config) -> {
          inside.countDown();
          await(gate);
          return null;
        });
    runtime.add(slow);
    Compilation compilation = compile();
    ExecutorService threads = Executors.newCachedThreadPool();
    Burst burst = compilation.createBurst(BurstOptions.DEFAULT.withDepth(depth));
    try {
      List<Future<ExecutionReport>> running = new ArrayList<>();
      for (int i = 0; i <= depth; i++) {
        running.add(threads.submit(() -> execute(compilation, burst)));
      }
      await(inside);
      Eventually.that("one is too many", () -> running.stream().anyMatch(Future::isDone));
      Future<ExecutionReport> refused =
          running.stream().filter(Future::isDone).findFirst().orElseThrow();
      assertEquals(ResultCode.BAD_STATE, refused.get().code());
      assertEquals(
          "the burst is busy: its depth allows 3 execution(s) at once", refused.get().message());
      running.remove(refused);
      burst.close();
      assertEquals("the burst is closed", execute(compilation, burst).message());
      gate.countDown();
      for (Future<ExecutionReport> each : running) {
        ExecutionReport report = each.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        assertTrue(report.isSuccess(), report.message());
        assertEquals(List.of(true), byBurst(report));
      }
      assertEquals(depth, burst.describe().executions());
      assertEquals(0, runtime.burstService.open(), "the last of them has closed it");
    } finally {
      gate.countDown();
      threads.shutdownNow();
    }
  }

  @Test
  void manyThreadsGetTheirOwnResults() throws Exception {
    int depth = 4;
    Compilation compilation = compile();
    ExecutorService threads = Executors.newFixedThreadPool(depth);
    try (Burst burst = compilation.createBurst(BurstOptions.DEFAULT.withDepth(depth))) {
      List<Future<Integer>> users = new ArrayList<>();
      for (int user = 0; user < depth; user++) {
        float own = user;
        users.add(threads.submit(() -> addAndMultiply(compilation, burst, own)));
      }
      for (Future<Integer> user : users) {
        assertEquals(EACH, user.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
      }
      assertEquals(2L * depth * EACH, burst.describe().sent());
    } finally {
      threads.shutdownNow();
    }
  }

  private static int addAndMultiply(Compilation compilation, Burst burst, float own) {
    for (int i = 0; i < EACH; i++) {
      float[] result = new float[4];
      ExecutionReport report =
          compilation
              .createExecution()
              .setInput(0, Graphs.floats(own, i, 0, 1))
              .setInput(1, Graphs.floats(1, 1, own, i))
              .setInput(2, Graphs.floats(1, 2, 1, 1))
              .setOutput(0, Graphs.floats(result))
              .burstCompute(burst);
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(new float[] {own + 1, (i + 1) * 2f, own, i + 1}, result);
    }
    return EACH;
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void answersAreComparedWithTheReference() throws Exception {
    FaultyDevice wrong = new FaultyDevice(LimitedDevice.all("wrong", 0.1));
    wrong.onExecute(
        (request, config) ->
            new ExecutionResult.Completed(
                List.of(new OutputShape(Shape.of(2, 2), true)), Timing.NONE));
    runtime.add(wrong);
    Compilation compilation =
        runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT.withSampling(1));
    try (Burst burst = compilation.createBurst()) {
      ExecutionReport report = execute(compilation, burst);
      assertTrue(report.isSuccess(), report.message());
      assertEquals("wrong", Graphs.ranOn(report).get(0));
      assertEquals(ResultCode.OP_FAILED, report.steps().get(0).code());
      assertEquals(true, byBurst(report).get(0));
    }
  }

  @Test
  void stateStaysInBuffersOfTheDevice() throws Exception {
    DomainDevice device = DomainDevice.of("domain", 0.1);
    runtime.add(device);
    Graphs.Builder graph = new Graphs.Builder(2, 2);
    int state = graph.input("state");
    int x = graph.input("x");
    graph.op(OperationCode.ADD, state, x, graph.output("next"));
    Compilation compilation = runtime.networks().compile(graph.model(), CompilationOptions.DEFAULT);
    MemoryDesc desc = MemoryDesc.builder("s").input(compilation, 0).output(compilation, 0).build();
    try (Burst burst = compilation.createBurst();
        Memory even = runtime.networks().createMemory(desc);
        Memory odd = runtime.networks().createMemory(desc)) {
      even.copyFrom(Graphs.floats(0, 0, 0, 0));
      for (int i = 0; i < 10; i++) {
        ExecutionReport report =
            compilation
                .createExecution()
                .setInput(0, i % 2 == 0 ? even : odd)
                .setInput(1, Graphs.floats(1, 2, -1, 0))
                .setOutput(0, i % 2 == 0 ? odd : even)
                .burstCompute(burst);
        assertTrue(report.isSuccess(), report.message());
        assertEquals(List.of(true), byBurst(report));
      }
      assertEquals(10, device.buffered(), "found by their tokens");
      float[] actual = new float[4];
      even.copyTo(Graphs.floats(actual));
      assertArrayEquals(new float[] {10, 20, -10, 0}, actual);
      assertEquals(Map.of(), burst.describe().fallbacks());
    }
  }

  @Test
  void aBurstOfAnotherCompilationIsBadData() throws Exception {
    Compilation compilation = compile();
    try (Burst other = compile().createBurst();
        Burst burst = compilation.createBurst()) {
      float[] result = new float[4];
      Execution execution = Graphs.addThenMulExecution(compilation, result);
      ExecutionReport report = execution.burstCompute(other);
      assertEquals(ResultCode.BAD_DATA, report.code());
      assertEquals("the burst is of another compilation: create one of this one", report.message());
      // The mistake has not used up the execution.
      assertTrue(execution.burstCompute(burst).isSuccess());
      assertEquals(ResultCode.BAD_STATE, execution.burstCompute(burst).code());
    }
  }

  @Test
  void aClosedBurstIsBadState() throws Exception {
    Compilation compilation = compile();
    Burst burst = compilation.createBurst();
    burst.close();
    burst.close();
    ExecutionReport report = execute(compilation, burst);
    assertEquals(ResultCode.BAD_STATE, report.code());
    assertEquals("the burst is closed", report.message());
  }

  @Test
  void aBurstEndsWithItsCompilation() throws Exception {
    Compilation compilation = compile();
    Burst burst = compilation.createBurst();
    Execution execution = Graphs.addThenMulExecution(compilation, new float[4]);
    compilation.close();
    assertEquals(ResultCode.BAD_STATE, execution.burstCompute(burst).code());
    assertThrows(IllegalStateException.class, compilation::createBurst);
  }

  @Test
  void depthsAreChecked() {
    for (int depth : new int[] {-1, 0, BurstOptions.MAXIMUM_DEPTH + 1}) {
      assertThrows(IllegalArgumentException.class, () -> BurstOptions.DEFAULT.withDepth(depth));
    }
  }

  /** Ten thousand frames by one burst while a device leaves and comes back twenty times. */
  @Test
  void noFrameIsLostWhileADeviceIsUpdated() throws Exception {
    LimitedDevice npu = LimitedDevice.all("npu", 0.1);
    runtime.add(npu);
    Compilation compilation = compile();
    AtomicInteger frames = new AtomicInteger();
    ExecutorService threads = Executors.newSingleThreadExecutor();
    try (Burst burst = compilation.createBurst()) {
      Future<?> updates =
          threads.submit(
              () -> {
                for (int i = 1; i <= UPDATES; i++) {
                  int begin = i * FRAMES / (UPDATES + 1);
                  Eventually.that("frames go on", () -> frames.get() >= begin);
                  runtime.remove(npu);
                  runtime.add(npu);
                }
                return null;
              });
      long fallbacks = 0;
      long refused = 0;
      for (int i = 0; i < FRAMES; i++) {
        float[] result = new float[4];
        ExecutionReport report =
            compilation
                .createExecution()
                .setInput(0, Graphs.floats(i, 1, 2, 3))
                .setInput(1, Graphs.floats(1, 1, 1, i))
                .setInput(2, Graphs.floats(1, 2, 1, 1))
                .setOutput(0, Graphs.floats(result))
                .burstCompute(burst);
        assertTrue(report.isSuccess(), "frame " + i + ": " + report.message());
        assertArrayEquals(new float[] {i + 1, 4, 3, i + 3}, result, "frame " + i);
        fallbacks +=
            report.steps().stream()
                .filter(step -> !step.byBurst() && step.code() == ResultCode.NO_ERROR)
                .count();
        refused +=
            report.steps().stream().filter(step -> step.code() != ResultCode.NO_ERROR).count();
        frames.incrementAndGet();
      }
      updates.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      assertEquals(FRAMES, burst.describe().executions());
      assertEquals(burst.describe().sent(), burst.describe().received());
      assertTrue(burst.describe().sent() >= FRAMES - fallbacks, burst.describe().toString());
      System.out.println("bursts: " + burst.describe() + ", steps that were repeated = " + refused);
    } finally {
      threads.shutdownNow();
    }
    runtime.remove(npu);
    assertEquals(0, npu.open());
  }

  @Test
  void anotherMemoryIsAnotherRequest() throws Exception {
    Compilation compilation =
        runtime.networks().compile(Graphs.twice(4), CompilationOptions.DEFAULT);
    try (Burst burst = compilation.createBurst();
        SharedMemory first = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        SharedMemory second = SharedMemory.allocate(MemoryKind.ASHMEM, 64)) {
      for (int i = 0; i < 12; i++) {
        SharedMemory memory = i % 3 == 0 ? first : second;
        long offset = i % 2 == 0 ? 0 : 16;
        MemorySegment.copy(Graphs.floats(i, 1, 2, 3), 0, memory.segment(), offset, 16);
        ExecutionReport report =
            compilation
                .createExecution()
                .setInput(0, memory, offset, 16, Shape.NONE)
                .setOutput(0, memory, 32 + offset, 16, Shape.NONE)
                .burstCompute(burst);
        assertTrue(report.isSuccess(), report.message());
        assertArrayEquals(
            new float[] {2 * i, 2, 4, 6},
            memory.segment().asSlice(32 + offset, 16).toArray(Graphs.FLOAT),
            "execution " + i);
      }
      assertEquals(Map.of(), burst.describe().fallbacks());
    }
  }

  @Test
  void onlyTheSameArgumentsNeedNoCheck() throws Exception {
    Compilation compilation =
        runtime.networks().compile(Graphs.twice(4), CompilationOptions.DEFAULT);
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    try (Burst burst = compilation.createBurst()) {
      for (int i = 0; i < 4; i++) {
        assertEquals(ResultCode.NO_ERROR, twice(compilation, burst, memory, 16, Shape.NONE));
        assertEquals(ResultCode.NO_ERROR, twice(compilation, burst, memory, 16, Shape.of(4)));
        assertEquals(ResultCode.BAD_DATA, twice(compilation, burst, memory, 16, Shape.of(5)));
        assertEquals(ResultCode.BAD_DATA, twice(compilation, burst, memory, 12, Shape.NONE));
        assertEquals(ResultCode.BAD_DATA, compilation.createExecution().burstCompute(burst).code());
        // The next plan is another one.
        if (i == 1) {
          runtime.remove(adder);
        } else if (i == 2) {
          runtime.add(adder);
        }
      }
      assertEquals(ResultCode.NO_ERROR, twice(compilation, burst, memory, 16, Shape.NONE));
      memory.close();
      assertThrows(IllegalStateException.class, memory::lend, "nobody keeps it");
      assertEquals(
          ResultCode.BAD_DATA,
          compilation
              .createExecution()
              .setInput(0, memory, 0, 16, Shape.NONE)
              .setOutput(0, memory, 32, 16, Shape.NONE)
              .burstCompute(burst)
              .code());
    }
  }

  @Test
  void anIdleBurstHoldsNeitherAPlanThatWasExchangedNorAMemoryThatIsClosed() throws Exception {
    Compilation compilation =
        runtime.networks().compile(Graphs.twice(4), CompilationOptions.DEFAULT);
    LimitedDevice faster = LimitedDevice.all("faster", 0.1);
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    try (Burst burst = compilation.createBurst()) {
      for (int i = 0; i < 4; i++) {
        assertEquals(ResultCode.NO_ERROR, twice(compilation, burst, memory, 16, Shape.NONE));
      }
      assertEquals(1, adder.open());
      runtime.add(faster);
      Eventually.that("it is planned again", () -> !compilation.isReplanning());
      assertEquals(0, adder.open(), "nothing is executed on the old plan");
      for (int i = 0; i < 4; i++) {
        assertEquals(ResultCode.NO_ERROR, twice(compilation, burst, memory, 16, Shape.NONE));
      }
      assertEquals(1, faster.open());
      memory.close();
      assertThrows(IllegalStateException.class, memory::lend, "nobody keeps it");
      compilation.close();
      assertEquals(0, faster.open());
      assertEquals(Map.of(), burst.describe().fallbacks());
    }
  }

  @Test
  void aMemoryMayBeClosedWhileABurstUsesItAgainAndAgain() throws Exception {
    Compilation compilation =
        runtime.networks().compile(Graphs.twice(4), CompilationOptions.DEFAULT);
    try (Burst burst = compilation.createBurst();
        SharedMemory output = SharedMemory.allocate(MemoryKind.ASHMEM, 16)) {
      for (int round = 0; round < 200; round++) {
        SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 16);
        MemorySegment.copy(Graphs.floats(round, 1, 2, 3), 0, memory.segment(), 0, 16);
        CountDownLatch isHeld = new CountDownLatch(1);
        Thread closer =
            Thread.ofPlatform()
                .start(
                    () -> {
                      await(isHeld);
                      memory.close();
                    });
        int done = 0;
        ExecutionReport report;
        do {
          report =
              compilation
                  .createExecution()
                  .setInput(0, memory, 0, 16, Shape.NONE)
                  .setOutput(0, output, 0, 16, Shape.NONE)
                  .burstCompute(burst);
          if (report.isSuccess()) {
            assertEquals(2f * round, output.segment().get(Graphs.FLOAT, 0));
          }
          done++;
          if (done == 3) {
            isHeld.countDown();
          }
        } while (report.isSuccess());
        assertEquals(ResultCode.BAD_DATA, report.code(), report.message());
        closer.join();
        assertThrows(IllegalStateException.class, memory::lend, "nobody keeps it");
      }
    }
  }

  /** Doubles what is there; the other half of the memory is to hold the result. */
  private static ResultCode twice(
      Compilation compilation, Burst burst, SharedMemory memory, long length, Shape shape) {
    MemorySegment.copy(Graphs.floats(1, 2, 3, 4), 0, memory.segment(), 0, 16);
    memory.segment().asSlice(32, 16).fill((byte) 0);
    ExecutionReport report =
        compilation
            .createExecution()
            .setInput(0, memory, 0, length, shape)
            .setOutput(0, memory, 32, 16, Shape.NONE)
            .burstCompute(burst);
    assertArrayEquals(
        report.isSuccess() ? new float[] {2, 4, 6, 8} : new float[4],
        memory.segment().asSlice(32, 16).toArray(Graphs.FLOAT),
        report.message());
    return report.code();
  }
}
