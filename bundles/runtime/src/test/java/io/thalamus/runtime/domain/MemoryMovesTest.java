// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.MemoryInfo.State;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.fakes.DomainDevice;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The way of contents when devices come, go, fail and die, and the errors after a loss. */
class MemoryMovesTest {
  private static final long PATIENCE_SECONDS = 60;
  private static final float[] ONE = {1, 2, 3, 4};
  private static final float[] TWO = {2, 4, 6, 8};
  private static final float[] FOUR = {4, 8, 12, 16};

  private final SteppedTime time = new SteppedTime();
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final DomainDevice npu = DomainDevice.of("npu", 0.1);
  private final TestRuntime runtime = TestRuntime.stepped(time, TestRuntime.SETTINGS, npu, cpu);
  private final List<DomainDevice> devices = new ArrayList<>(List.of(npu));

  @AfterEach
  void closeAll() throws Exception {
    runtime.networks().close();
    Eventually.that(
        "all is given back",
        () -> devices.stream().allMatch(device -> device.buffers() + device.open() == 0));
    runtime.close();
    assertEquals(0, cpu.open());
  }

  private Compilation compile(CompilationOptions options) throws Exception {
    return runtime.networks().compile(Graphs.twice(2, 2), options);
  }

  private Compilation compile() throws Exception {
    return compile(CompilationOptions.DEFAULT);
  }

  private Memory make(String name, Compilation compilation) throws Exception {
    return runtime
        .networks()
        .createMemory(
            MemoryDesc.builder(name).input(compilation, 0).output(compilation, 0).build());
  }

  private static ExecutionReport run(Compilation compilation, Memory from, Memory to) {
    return compilation.createExecution().setInput(0, from).setOutput(0, to).compute();
  }

  private static ExecutionReport write(Compilation compilation, Memory to) {
    return compilation.createExecution().setInput(0, Graphs.floats(ONE)).setOutput(0, to).compute();
  }

  private static void holds(float[] expected, Memory memory) throws NeuralNetworksException {
    float[] actual = new float[expected.length];
    memory.copyTo(Graphs.floats(actual));
    assertArrayEquals(expected, actual);
  }

  private static List<String> places(Memory memory) {
    return memory.describe().places();
  }

  private static void dead(Memory memory, String device) {
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class, () -> memory.copyTo(Graphs.floats(new float[4])));
    dead(memory, device, e.code(), e.getMessage());
  }

  private static void dead(Memory memory, String device, ResultCode code, String message) {
    assertEquals(ResultCode.DEAD_OBJECT, code, message);
    assertTrue(message.contains("'" + memory.name() + "'"), message);
    assertTrue(message.contains(device), message);
    assertTrue(message.contains("write it anew"), message);
  }

  private void settled(Compilation compilation) throws Exception {
    Eventually.that("planned", () -> !compilation.isReplanning());
  }

  @Test
  void stateStaysOnTheDevice() throws Exception {
    Compilation twice = compile();
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      assertEquals(ResultCode.NO_ERROR, write(twice, a).code());
      for (int i = 0; i < 5; i++) {
        assertEquals(List.of("npu"), places(i % 2 == 0 ? a : b), "nothing was moved");
        run(twice, i % 2 == 0 ? a : b, i % 2 == 0 ? b : a).orThrow();
      }
      assertEquals(6, npu.buffered());
      holds(new float[] {64, 128, 192, 256}, b);
      assertEquals(List.of("npu", MemoryInfo.SHARED), places(b));
    }
  }

  @Test
  void departureInGoodOrderMovesTheOnlyCopy() throws Exception {
    Compilation twice = compile();
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      runtime.remove(npu);
      assertEquals(0, npu.buffers(), "open when the departure is over");
      assertEquals(List.of(MemoryInfo.SHARED), places(a));
      settled(twice);
      assertEquals(List.of("cpu"), Graphs.ranOn(run(twice, a, b)));
      holds(FOUR, b);
      holds(TWO, a);
    }
  }

  @Test
  void stateReturnsToADeviceThatReturns() throws Exception {
    Compilation twice = compile();
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      runtime.remove(npu);
      DomainDevice updated = DomainDevice.of("npu", 0.1);
      devices.add(updated);
      runtime.add(updated);
      settled(twice);
      assertEquals(List.of("npu"), Graphs.ranOn(run(twice, a, b)));
      assertEquals(1, updated.buffered());
      assertEquals(List.of("npu"), places(b));
      holds(FOUR, b);
    }
  }

  @Test
  void stateFollowsToABetterDevice() throws Exception {
    Compilation twice = compile();
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      DomainDevice better = DomainDevice.of("better", 0.01);
      devices.add(better);
      runtime.add(better);
      settled(twice);
      assertEquals(List.of("better"), Graphs.ranOn(run(twice, a, b)));
      holds(FOUR, b);
      assertEquals("better", a.describe().home());
      assertEquals(0, npu.buffers(), "the old buffers are given back");
    }
  }

  @Test
  void whatIsLostIsNeverStale() throws Exception {
    for (Fallback fallback : Fallback.values()) {
      Compilation twice = compile(CompilationOptions.DEFAULT.with(fallback));
      try (Memory a = make("state a", twice);
          Memory b = make("state b", twice);
          Memory other = make("other", twice)) {
        write(twice, a).orThrow();
        other.copyFrom(Graphs.floats(ONE));
        npu.loseContents();
        ExecutionReport report = run(twice, a, b);
        dead(a, "npu", report.code(), report.message());
        assertEquals(State.DEAD, a.describe().state());
        assertEquals(State.UNINITIALIZED, b.describe().state());
        // Until it is written, it says so; others live on.
        dead(a, "npu");
        ExecutionReport again = run(twice, a, b);
        dead(a, "npu", again.code(), again.message());
        run(twice, other, b).orThrow();
        holds(TWO, b);
        a.copyFrom(Graphs.floats(ONE));
        run(twice, a, b).orThrow();
        holds(TWO, b);
        // The other way to write it anew.
        npu.loseContents();
        write(twice, b).orThrow();
        holds(TWO, b);
      }
      twice.close();
    }
  }

  @Test
  void whatDiesOnItsWayLeavesNoBufferBehind() throws Exception {
    Compilation twice = compile();
    DomainDevice better = DomainDevice.of("better", 0.01);
    devices.add(better);
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      npu.loseContents();
      runtime.add(better);
      settled(twice);
      ExecutionReport report = run(twice, a, b);
      dead(a, "npu", report.code(), report.message());
    }
    assertEquals(0, npu.buffers() + better.buffers(), "open when the memories are closed");
  }

  @Test
  void aCopyElsewhereSurvivesTheLoss() throws Exception {
    Compilation twice = compile();
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      holds(TWO, a); // which leaves a copy
      npu.loseContents();
      run(twice, a, b).orThrow();
      holds(FOUR, b);
      // The device is given its copy anew.
      assertEquals(List.of("npu"), Graphs.ranOn(run(twice, a, b)));
    }
  }

  @Test
  void aDeviceThatDiesTakesItsOnlyCopiesAlong() throws Exception {
    Compilation twice = compile();
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      b.copyFrom(Graphs.floats(ONE));
      npu.refuseCopies(true);
      runtime.remove(npu);
      dead(a, "npu");
      settled(twice);
      ExecutionReport report = run(twice, a, b);
      dead(a, "npu", report.code(), report.message());
      holds(ONE, b);
      run(twice, b, a).orThrow();
      holds(TWO, a);
    }
  }

  @Test
  void aFailedExecutionLeavesItsOutputEmptyAndItsInputAlone() throws Exception {
    Compilation twice = compile(CompilationOptions.DEFAULT.with(Fallback.DENY));
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      write(twice, b).orThrow();
      npu.afterExecute(
          (request, config) -> new Failed(ErrorStatus.GENERAL_FAILURE, "out of order"));
      ExecutionReport report = run(twice, a, b);
      assertEquals(ResultCode.OP_FAILED, report.code());
      assertEquals(State.UNINITIALIZED, b.describe().state());
      assertThrows(NeuralNetworksException.class, () -> b.copyTo(Graphs.floats(new float[4])));
      npu.afterExecute(null);
      holds(TWO, a);
      run(twice, a, b).orThrow();
      holds(FOUR, b);
    }
  }

  @Test
  void aRepeatedStepReadsTheStateOfBefore() throws Exception {
    Compilation twice = compile();
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      // It has written its output when it fails.
      npu.afterExecute(
          (request, config) -> new Failed(ErrorStatus.GENERAL_FAILURE, "out of order"));
      ExecutionReport report = run(twice, a, b);
      assertEquals(List.of("npu", "cpu"), Graphs.ranOn(report), report.message());
      npu.afterExecute(null);
      holds(TWO, a);
      holds(FOUR, b);
      assertEquals(List.of(MemoryInfo.SHARED), places(b));
      assertEquals(List.of("npu"), Graphs.ranOn(run(twice, b, a)));
      holds(new float[] {8, 16, 24, 32}, a);
    }
  }

  @Test
  void theWholeIsRepeatedWithTheStateOfBefore() throws Exception {
    // Two steps on the device, around one that always fails, on which even the cpu fails once.
    DomainDevice adder = DomainDevice.of("adder", 0.01, OperationCode.ADD);
    devices.add(adder);
    runtime.remove(npu);
    runtime.add(adder);
    Graphs.Builder graph = new Graphs.Builder(2, 2);
    int state = graph.input("state");
    int sum = graph.temporary("sum");
    int next = graph.output("next");
    int product = graph.output("product");
    graph.op(OperationCode.ADD, state, state, next);
    graph.op(OperationCode.ADD, next, state, sum);
    graph.op(OperationCode.MUL, sum, sum, product);
    Model model = graph.model();
    Compilation compilation = runtime.networks().compile(model, CompilationOptions.DEFAULT);
    MemoryDesc desc = MemoryDesc.builder("s").input(compilation, 0).output(compilation, 0).build();
    try (Memory a = runtime.networks().createMemory(desc);
        Memory b = runtime.networks().createMemory(desc)) {
      assertEquals("adder", a.describe().home());
      a.copyFrom(Graphs.floats(ONE));
      int[] failures = {1};
      adder.afterExecute(
          (request, config) ->
              failures[0]-- > 0 ? new Failed(ErrorStatus.GENERAL_FAILURE, "once") : null);
      for (int i = 0; i < 3; i++) {
        float[] result = new float[4];
        compilation
            .createExecution()
            .setInput(0, a)
            .setOutput(0, b)
            .setOutput(1, Graphs.floats(result))
            .compute()
            .orThrow();
        assertArrayEquals(new float[] {9, 36, 81, 144}, result);
        holds(ONE, a);
        holds(TWO, b);
      }
    }
  }

  @Test
  void aDeviceThatIsGivenUpWritesNowhere() throws Exception {
    Compilation twice = compile();
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch gate = new CountDownLatch(1);
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      npu.onExecute(
          (request, config) -> {
            inside.countDown();
            awaitQuietly(gate);
            return null;
          });
      CompletableFuture<ExecutionReport> future =
          twice.createExecution().setInput(0, a).setOutput(0, b).computeAsync();
      assertTrue(inside.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
      // Beyond the limit once; more, and the device would be probed in this thread.
      time.advance(Duration.ofSeconds(4));
      Eventually.that("it is repeated", future::isDone);
      assertEquals(ResultCode.NO_ERROR, future.join().code(), future.join().message());
      holds(FOUR, b);
      b.copyFrom(Graphs.floats(ONE));
      npu.onExecute(null);
      gate.countDown();
      Eventually.that("the late answer is there", () -> npu.buffered() == 2);
      holds(ONE, b);
      holds(TWO, a);
    }
  }

  @Test
  void whatHangsWithTheOnlyCopyIsDead() throws Exception {
    Compilation twice = compile();
    CountDownLatch gate = new CountDownLatch(1);
    CountDownLatch inside = new CountDownLatch(1);
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      npu.refuseCopies(true);
      npu.onExecute(
          (request, config) -> {
            inside.countDown();
            awaitQuietly(gate);
            return null;
          });
      CompletableFuture<ExecutionReport> future =
          twice.createExecution().setInput(0, a).setOutput(0, b).computeAsync();
      assertTrue(inside.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
      // Beyond the limit once; more, and the device would be probed in this thread.
      time.advance(Duration.ofSeconds(4));
      Eventually.that("it is given up", future::isDone);
      dead(a, "npu", future.join().code(), future.join().message());
      npu.onExecute(null);
      gate.countDown();
      npu.refuseCopies(false);
      write(twice, a).orThrow();
      holds(TWO, a);
    }
  }

  @Test
  void aSecondOpinionSeesWhatIsOnTheDevice() throws Exception {
    Compilation twice = compile(CompilationOptions.DEFAULT.withSampling(1));
    try (Memory a = make("a", twice);
        Memory b = make("b", twice)) {
      write(twice, a).orThrow();
      assertEquals(List.of("npu"), Graphs.ranOn(run(twice, a, b)));
      holds(FOUR, b);
      assertEquals(2, npu.buffered());
      assertEquals(
          2,
          runtime.networks().devices().stream()
              .filter(device -> device.id().equals("npu"))
              .findFirst()
              .orElseThrow()
              .health()
              .samples());
    }
  }

  @Test
  void executionsShareInputsAndTakeTurnsOnOutputs() throws Exception {
    Compilation twice = compile();
    try (Memory a = make("a", twice);
        Memory b = make("b", twice);
        Memory c = make("c", twice)) {
      a.copyFrom(Graphs.floats(ONE));
      List<CompletableFuture<ExecutionReport>> futures = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        boolean isEven = i % 2 == 0;
        futures.add(
            twice.createExecution().setInput(0, a).setOutput(0, isEven ? b : c).computeAsync());
        // The other way round: whoever claimed in the order of arguments would wait for ever.
        futures.add(
            twice
                .createExecution()
                .setInput(0, isEven ? c : b)
                .setOutput(0, isEven ? b : c)
                .computeAsync());
      }
      for (CompletableFuture<ExecutionReport> future : futures) {
        future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      }
      run(twice, a, b).orThrow();
      holds(TWO, b);
      holds(ONE, a);
    }
  }

  @Test
  void whoWaitsForAMemoryCanBeCancelled() throws Exception {
    DomainDevice slow = DomainDevice.ofType(DeviceType.CPU, "slow", 0.01);
    devices.add(slow);
    runtime.add(slow);
    Compilation twice = compile();
    CountDownLatch gate = new CountDownLatch(1);
    CountDownLatch inside = new CountDownLatch(1);
    try (Memory a = make("a", twice)) {
      slow.onExecute(
          (request, config) -> {
            inside.countDown();
            awaitQuietly(gate);
            return null;
          });
      CompletableFuture<ExecutionReport> first =
          twice.createExecution().setInput(0, Graphs.floats(ONE)).setOutput(0, a).computeAsync();
      assertTrue(inside.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
      CompletableFuture<ExecutionReport> late =
          twice
              .createExecution()
              .setInput(0, Graphs.floats(ONE))
              .setOutput(0, a)
              .setTimeout(Duration.ofMillis(50))
              .computeAsync();
      Eventually.that(
          "its deadline passes",
          () -> {
            time.advance(Duration.ofMillis(10));
            return late.isDone();
          });
      assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, late.join().code());
      slow.onExecute(null);
      gate.countDown();
      assertTrue(first.get(PATIENCE_SECONDS, TimeUnit.SECONDS).isSuccess());
      holds(TWO, a);
    }
  }

  @Test
  void controlFlowUsesSharedMemory() throws Exception {
    // IF x THEN y + y ELSE y * y: the interpreter reads the condition, and hands the rest on.
    Graphs.Builder then = new Graphs.Builder(2, 2);
    int thenIn = then.input("y");
    then.op(OperationCode.ADD, thenIn, thenIn, then.output("z"));
    Graphs.Builder otherwise = new Graphs.Builder(2, 2);
    int otherwiseIn = otherwise.input("y");
    otherwise.op(OperationCode.MUL, otherwiseIn, otherwiseIn, otherwise.output("z"));
    Graphs.Builder main = new Graphs.Builder(2, 2);
    int condition = main.boolInput("x");
    int value = main.input("y");
    int out = main.output("z");
    main.raw()
        .operation(
            OperationCode.IF,
            List.of(condition, main.reference(0), main.reference(1), value),
            List.of(out));
    Model model = new Model(main.build(), List.of(then.build(), otherwise.build()), false);
    Compilation compilation = runtime.networks().compile(model, CompilationOptions.DEFAULT);
    try (Memory flag =
            runtime
                .networks()
                .createMemory(MemoryDesc.builder("flag").input(compilation, 0).build());
        Memory a =
            runtime
                .networks()
                .createMemory(
                    MemoryDesc.builder("a").input(compilation, 1).output(compilation, 0).build());
        Memory b =
            runtime
                .networks()
                .createMemory(
                    MemoryDesc.builder("b").input(compilation, 1).output(compilation, 0).build())) {
      assertEquals(MemoryInfo.SHARED, a.describe().home());
      a.copyFrom(Graphs.floats(ONE));
      for (byte isThen = 0; isThen < 2; isThen++) {
        flag.copyFrom(java.lang.foreign.MemorySegment.ofArray(new byte[] {isThen}));
        compilation
            .createExecution()
            .setInput(0, flag)
            .setInput(1, a)
            .setOutput(0, b)
            .compute()
            .orThrow();
        holds(isThen == 1 ? TWO : new float[] {1, 4, 9, 16}, b);
      }
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
