// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Devices that come and go while a compilation lives. */
class HotPlugTest {
  private static final long PATIENCE_SECONDS = 60;

  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final TestRuntime runtime = TestRuntime.of(cpu);

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, cpu.open(), "left open");
  }

  private Compilation compile(Fallback fallback) throws Exception {
    return runtime
        .networks()
        .compile(Graphs.addThenMul(), CompilationOptions.DEFAULT.with(fallback));
  }

  private static List<String> devices(Compilation compilation) {
    return compilation.plan().steps().stream().map(Plan.Step::device).toList();
  }

  private static void await(String what, Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!condition.call()) {
      assertTrue(System.nanoTime() < end, "it never happened: " + what);
      Thread.sleep(1);
    }
  }

  private static ExecutionReport run(Compilation compilation) {
    float[] result = new float[4];
    ExecutionReport report = Graphs.addThenMulExecution(compilation, result).compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(Graphs.addThenMulResult(), result);
    return report;
  }

  @Test
  void aBetterDeviceTakesOverAndGivesBack() throws Exception {
    Compilation compilation = compile(Fallback.ALLOW);
    assertEquals(List.of("cpu"), Graphs.ranOn(run(compilation)));
    LimitedDevice fast = LimitedDevice.all("fast", 0.5);
    runtime.add(fast);
    await("move to fast", () -> devices(compilation).equals(List.of("fast")));
    assertEquals(List.of("fast"), Graphs.ranOn(run(compilation)));
    await("old plan closed", () -> cpu.open() == 0);
    runtime.remove(fast);
    assertEquals(0, fast.open(), "closed when the departure is over");
    run(compilation);
    await("move back", () -> devices(compilation).equals(List.of("cpu")));
    assertEquals(List.of("cpu"), Graphs.ranOn(run(compilation)));
  }

  @Test
  void aWorseDeviceChangesNothing() throws Exception {
    Compilation compilation = compile(Fallback.ALLOW);
    LimitedDevice slow = LimitedDevice.all("slow", 2);
    runtime.add(slow);
    runtime.add(LimitedDevice.all("marker", 0.1));
    await("move to marker", () -> devices(compilation).equals(List.of("marker")));
    assertEquals(0, slow.prepared().size());
  }

  @Test
  void namedDevicesOnlyAreMovedTo() throws Exception {
    Compilation pinned =
        runtime
            .networks()
            .compile(Graphs.addThenMul(), CompilationOptions.DEFAULT.withDevices(List.of("cpu")));
    Compilation free = compile(Fallback.ALLOW);
    runtime.add(LimitedDevice.all("fast", 0.5));
    await("free one moves", () -> devices(free).equals(List.of("fast")));
    assertEquals(List.of("cpu"), devices(pinned));
  }

  @Test
  void whereFallbackIsDeniedADepartureIsSeenUntilAReturn() throws Exception {
    LimitedDevice fast = LimitedDevice.all("fast", 0.5);
    runtime.add(fast);
    Compilation compilation = compile(Fallback.DENY);
    assertEquals(List.of("fast"), Graphs.ranOn(run(compilation)));
    runtime.remove(fast);
    for (int i = 0; i < 2; i++) {
      ExecutionReport report = Graphs.addThenMulExecution(compilation, new float[4]).compute();
      assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.code());
      assertEquals(
          "ADD (operation 0, and 1 more) failed on fast: it has left"
              + " (this compilation allows no fallback)",
          report.message());
    }
    LimitedDevice updated = LimitedDevice.all("fast", 0.5);
    runtime.add(updated);
    await(
        "it runs again",
        () -> Graphs.addThenMulExecution(compilation, new float[4]).compute().isSuccess());
    assertEquals(1, updated.executions());
  }

  @Test
  void aDepartureWaitsForARunningCall() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    LimitedDevice fast = LimitedDevice.all("fast", 0.5);
    FaultyDevice slow =
        new FaultyDevice(fast)
            .onExecute(
                (request, config) -> {
                  begun.countDown();
                  awaitQuietly(go);
                  return null;
                });
    runtime.add(slow);
    Compilation compilation = compile(Fallback.ALLOW);
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      Future<ExecutionReport> running = threads.submit(() -> run(compilation));
      assertTrue(begun.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
      Future<?> departure = threads.submit(() -> runtime.remove(slow));
      await("the call is the last", () -> runtime.registry.devices().size() == 1);
      assertFalse(departure.isDone());
      assertEquals(1, fast.open());
      go.countDown();
      assertEquals(List.of("fast"), Graphs.ranOn(running.get()));
      departure.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      assertEquals(0, fast.open());
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void anExecutionFinishesOnThePlanItBeganWith() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    LimitedDevice first = LimitedDevice.all("first", 0.9);
    FaultyDevice slow =
        new FaultyDevice(first)
            .onExecute(
                (request, config) -> {
                  begun.countDown();
                  awaitQuietly(go);
                  return null;
                });
    runtime.add(slow);
    Compilation compilation = compile(Fallback.ALLOW);
    ExecutorService threads = Executors.newFixedThreadPool(1);
    try {
      Future<ExecutionReport> running = threads.submit(() -> run(compilation));
      assertTrue(begun.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
      LimitedDevice second = LimitedDevice.all("second", 0.5);
      runtime.add(second);
      await("the plan is exchanged", () -> devices(compilation).equals(List.of("second")));
      assertEquals(List.of("second"), Graphs.ranOn(run(compilation)), "the next one does not wait");
      assertFalse(running.isDone());
      assertEquals(1, first.open(), "the old plan is in use");
      go.countDown();
      assertEquals(List.of("first"), Graphs.ranOn(running.get()));
      await("the old plan is closed after its last use", () -> first.open() == 0);
    } finally {
      go.countDown();
      threads.shutdownNow();
    }
  }

  @Test
  void aModelThatIsClosedWhileItIsReplannedStaysUntilItIsPrepared() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    CompletableFuture<Float> read = new CompletableFuture<>();
    SharedMemory constants = SharedMemory.allocate(MemoryKind.ASHMEM, 16);
    constants.segment().set(Graphs.FLOAT, 12, 4.5f);
    FaultyDevice fast =
        new FaultyDevice(LimitedDevice.all("fast", 0.5))
            .onSupport(
                model -> {
                  begun.countDown();
                  awaitQuietly(go);
                  BitSet all = new BitSet();
                  all.set(0);
                  return all;
                })
            .onPrepare(
                model -> {
                  try {
                    read.complete(model.pools().getFirst().segment().get(Graphs.FLOAT, 12));
                  } catch (RuntimeException e) {
                    read.completeExceptionally(e);
                  }
                });
    Compilation compilation =
        runtime.networks().compile(addConstant(constants), CompilationOptions.DEFAULT);
    runtime.add(fast);
    assertTrue(begun.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
    compilation.close();
    constants.close();
    go.countDown();
    assertEquals(4.5f, read.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
    await("its memory goes after that", () -> !constants.segment().scope().isAlive());
  }

  /** Returns {@code y = x + c}, of four floats. */
  private static Model addConstant(SharedMemory constants) {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(4);
    int x = graph.input("x", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int c =
        graph.constant(
            "c",
            OperandCode.TENSOR_FLOAT32,
            shape,
            Quantization.NONE,
            new ConstantReference(constants, 0, 16));
    int y = graph.output("y", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(OperationCode.ADD, List.of(x, c, graph.int32(0)), List.of(y));
    return Model.of(graph.build());
  }

  @Test
  void anUpdatedDeviceServesAgain() throws Exception {
    LimitedDevice old = LimitedDevice.all("fast", 0.5);
    runtime.add(old);
    Compilation compilation = compile(Fallback.ALLOW);
    run(compilation);
    runtime.remove(old);
    LimitedDevice updated = LimitedDevice.all("fast", 0.5);
    runtime.add(updated);
    await("the new one serves", () -> Graphs.ranOn(run(compilation)).equals(List.of("fast")));
    assertTrue(updated.executions() > 0);
    assertEquals(1, old.executions());
    assertEquals(0, old.open());
  }

  @Test
  void aCallThatNeverReturnsIsAbandonedAndRepeated() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch never = new CountDownLatch(1);
    LimitedDevice fast = LimitedDevice.all("fast", 0.5);
    FaultyDevice hung =
        new FaultyDevice(fast)
            .onExecute(
                (request, config) -> {
                  begun.countDown();
                  awaitQuietly(never);
                  return null;
                });
    ExecutorService threads = Executors.newFixedThreadPool(1);
    try (TestRuntime impatient = TestRuntime.impatient(cpu, hung);
        SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64)) {
      Compilation compilation =
          impatient.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT);
      Future<ExecutionReport> running =
          threads.submit(
              () ->
                  Graphs.addThenMulExecution(compilation, new float[4])
                      .setOutput(0, memory, 16, 16, Shape.NONE)
                      .compute());
      assertTrue(begun.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
      impatient.remove(hung);
      ExecutionReport report = running.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      assertTrue(report.isSuccess(), report.message());
      assertEquals(List.of("fast", "cpu"), Graphs.ranOn(report));
      assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.steps().get(0).code());
      assertArrayEquals(
          Graphs.addThenMulResult(), memory.segment().asSlice(16, 16).toArray(Graphs.FLOAT));
      // What the device writes after it was given up reaches nobody.
      memory.segment().fill((byte) 0);
      assertEquals(1, fast.open(), "what still runs is not closed under it");
      never.countDown();
      await("the last call closes what is left", () -> fast.open() == 0);
      assertEquals(0f, memory.segment().get(Graphs.FLOAT, 16));
      run(compilation);
    } finally {
      threads.shutdownNow();
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void requestsSurviveAnyComingAndGoing() throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    Compilation compilation = compile(Fallback.ALLOW);
    AtomicBoolean over = new AtomicBoolean();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<LimitedDevice> all = new ArrayList<>();
    try {
      List<Future<Integer>> users = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        users.add(
            threads.submit(
                () -> {
                  int elsewhere = 0;
                  while (!over.get()) {
                    elsewhere += Graphs.ranOn(run(compilation)).contains("cpu") ? 0 : 1;
                  }
                  return elsewhere;
                }));
      }
      Random random = new Random(seed);
      List<LimitedDevice> here = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        if (here.size() < 3 && random.nextBoolean()) {
          LimitedDevice device = LimitedDevice.all("d" + i, random.nextInt(1, 10) / 10.0);
          all.add(device);
          here.add(device);
          runtime.add(device);
        } else if (!here.isEmpty()) {
          LimitedDevice device = here.remove(random.nextInt(here.size()));
          runtime.remove(device);
          assertEquals(0, device.open(), "seed " + seed + ": left open after its departure");
        }
        Thread.sleep(random.nextInt(5));
      }
      // One that stays until it has served: those before may have come and gone too fast.
      LimitedDevice last = LimitedDevice.all("last", 0.05);
      all.add(last);
      runtime.add(last);
      await("the last one serves", () -> last.executions() > 0);
      over.set(true);
      int elsewhere = 0;
      for (Future<Integer> user : users) {
        elsewhere += user.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      }
      System.out.println(
          "hot plug: seed = " + seed + ", requests on devices that came = " + elsewhere);
    } finally {
      over.set(true);
      threads.shutdownNow();
    }
    compilation.close();
    await("all closed", () -> all.stream().allMatch(device -> device.open() == 0));
  }
}
