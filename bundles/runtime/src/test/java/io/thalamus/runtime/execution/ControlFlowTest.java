// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** AOSP's control flow partitioning tests, and what the interpreter computes. */
class ControlFlowTest {
  private static final OperationCode[] ARITHMETIC = {OperationCode.ADD, OperationCode.MUL};

  private static Subgraph binary(OperationCode type, int... dimensions) {
    Graphs.Builder g = new Graphs.Builder(dimensions);
    int a = g.input("a");
    int b = g.input("b");
    g.op(type, a, b, g.output("r"));
    return g.build();
  }

  /** {@code c ? a + b : a * b}. */
  static Model branch(int... dimensions) {
    Graphs.Builder g = new Graphs.Builder(dimensions);
    int c = g.boolInput("c");
    int a = g.input("a");
    int b = g.input("b");
    int out = g.output("out");
    g.raw()
        .operation(
            OperationCode.IF, List.of(c, g.reference(0), g.reference(1), a, b), List.of(out));
    return new Model(
        g.build(),
        List.of(binary(OperationCode.ADD, dimensions), binary(OperationCode.MUL, dimensions)),
        false);
  }

  private static Subgraph less() {
    Graphs.Builder g = new Graphs.Builder(1);
    int a = g.input("a");
    int b = g.input("b");
    int r = g.raw().output("r", OperandCode.TENSOR_BOOL8, Shape.of(1), Quantization.NONE);
    g.raw().operation(OperationCode.LESS, List.of(a, b), List.of(r));
    return g.build();
  }

  /** {@code while (x < limit) x = x + limit0}, where the body adds its second input. */
  static Model loop(Subgraph body) {
    Graphs.Builder g = new Graphs.Builder(1);
    int x = g.input("x");
    int limit = g.input("limit");
    int out = g.output("out");
    g.raw()
        .operation(
            OperationCode.WHILE, List.of(g.reference(0), g.reference(1), x, limit), List.of(out));
    return new Model(g.build(), List.of(less(), body), false);
  }

  /** {@code r = a + 1}, ignoring the limit but for adding zero times it. */
  private static Subgraph increment() {
    Graphs.Builder g = new Graphs.Builder(1);
    int a = g.input("a");
    int limit = g.input("limit");
    int one = constant(g, 1);
    int zero = constant(g, 0);
    int t = g.temporary("t");
    int u = g.temporary("u");
    g.op(OperationCode.MUL, limit, zero, t);
    g.op(OperationCode.ADD, a, one, u);
    g.op(OperationCode.ADD, u, t, g.output("r"));
    return g.build();
  }

  private static int constant(Graphs.Builder g, float value) {
    byte[] bytes = new byte[4];
    MemorySegment.ofArray(bytes).set(Graphs.FLOAT, 0, value);
    return g.raw()
        .constant(
            "",
            OperandCode.TENSOR_FLOAT32,
            Shape.of(1),
            Quantization.NONE,
            new ConstantCopy(bytes));
  }

  private static float[] run(Compilation compilation, ExecutionReport[] report, float... inputs) {
    float[] out = new float[1];
    var execution = compilation.createExecution();
    for (int i = 0; i < inputs.length; i++) {
      execution.setInput(i, Graphs.floats(inputs[i]));
    }
    report[0] = execution.setOutput(0, Graphs.floats(out)).compute();
    return out;
  }

  private static List<String> devices(Plan plan) {
    return plan.steps().stream().map(Plan.Step::device).toList();
  }

  @Test
  void anIfThatNobodyTakesIsInterpreted() throws Exception {
    LimitedDevice device = LimitedDevice.of("adder", 0.9, OperationCode.ADD);
    try (TestRuntime runtime = TestRuntime.lenient(device, LimitedDevice.cpu())) {
      Compilation compilation = runtime.networks().compile(branch(1), CompilationOptions.DEFAULT);
      assertEquals(List.of("interpreter", "adder", "cpu"), devices(compilation.plan()));
      for (boolean isThen : new boolean[] {true, false}) {
        float[] out = new float[1];
        ExecutionReport report =
            compilation
                .createExecution()
                .setInput(0, MemorySegment.ofArray(new byte[] {(byte) (isThen ? 1 : 0)}))
                .setInput(1, Graphs.floats(3))
                .setInput(2, Graphs.floats(4))
                .setOutput(0, Graphs.floats(out))
                .compute();
        assertTrue(report.isSuccess(), report.message());
        assertEquals(isThen ? 7 : 12, out[0]);
        assertEquals(List.of("interpreter", isThen ? "adder" : "cpu"), Graphs.ranOn(report));
      }
    }
  }

  @Test
  void aDeviceThatTakesAllOfItGetsTheWholeModel() throws Exception {
    Device all =
        new LimitedDevice(
            LimitedDevice.info("test-all", DeviceType.ACCELERATOR, 0.9).build(),
            (graph, operation) -> true);
    try (TestRuntime runtime = TestRuntime.lenient(all, LimitedDevice.cpu())) {
      for (Model model : List.of(branch(1), loop(increment()))) {
        Compilation compilation = runtime.networks().compile(model, CompilationOptions.DEFAULT);
        assertEquals(List.of("all"), devices(compilation.plan()));
      }
      ExecutionReport[] report = new ExecutionReport[1];
      Compilation loop = runtime.networks().compile(loop(increment()), CompilationOptions.DEFAULT);
      assertArrayEquals(new float[] {5}, run(loop, report, 0, 5), report[0]::message);
    }
  }

  @Test
  void unknownSizesGoToTheCpuAsOneOperation() throws Exception {
    Device all =
        new LimitedDevice(
            LimitedDevice.info("test-all", DeviceType.ACCELERATOR, 0.9).build(),
            (graph, operation) -> true);
    try (TestRuntime runtime = TestRuntime.lenient(all, LimitedDevice.cpu())) {
      Compilation compilation = runtime.networks().compile(branch(0), CompilationOptions.DEFAULT);
      assertEquals(List.of("cpu"), devices(compilation.plan()));
    }
  }

  @Test
  void aWhileThatNobodyTakesIsInterpretedOverTwoBuffers() throws Exception {
    LimitedDevice device = LimitedDevice.of("fast", 0.9, ARITHMETIC);
    try (TestRuntime runtime = TestRuntime.lenient(device, LimitedDevice.cpu())) {
      Compilation compilation =
          runtime.networks().compile(loop(increment()), CompilationOptions.DEFAULT);
      assertEquals(List.of("interpreter", "cpu", "fast"), devices(compilation.plan()));
      ExecutionReport[] report = new ExecutionReport[1];
      for (int rounds = 0; rounds < 6; rounds++) {
        float start = 10 - rounds;
        float[] out = run(compilation, report, start, 10);
        assertTrue(report[0].isSuccess(), report[0].message());
        assertEquals(10, out[0], "after " + rounds + " rounds");
      }
      // No round at all: the first value is copied out.
      assertArrayEquals(new float[] {11}, run(compilation, report, 11, 10));
      assertEquals(List.of("cpu", "interpreter"), Graphs.ranOn(report[0]));
    }
  }

  @Test
  void withoutTheCpuControlFlowIsInterpretedAllTheSame() throws Exception {
    LimitedDevice device =
        LimitedDevice.of("fast", 0.9, OperationCode.ADD, OperationCode.MUL, OperationCode.LESS);
    try (TestRuntime runtime = TestRuntime.lenient(device)) {
      Compilation compilation =
          runtime.networks().compile(loop(increment()), CompilationOptions.DEFAULT);
      ExecutionReport[] report = new ExecutionReport[1];
      assertArrayEquals(new float[] {4}, run(compilation, report, 0, 4), report[0]::message);
      assertEquals(
          1,
          runtime.networks().supportedOperations(loop(increment()), List.of("fast")).cardinality());
    }
  }

  @Test
  void aLoopThatDoesNotEndMissesItsDeadlineAndIsNotRepeated() throws Exception {
    LimitedDevice device = LimitedDevice.of("fast", 0.9, ARITHMETIC);
    LimitedDevice cpu = LimitedDevice.cpu();
    try (TestRuntime runtime = TestRuntime.lenient(device, cpu)) {
      // x = x * limit stays 0 for ever.
      Compilation compilation =
          runtime
              .networks()
              .compile(loop(binary(OperationCode.MUL, 1)), CompilationOptions.DEFAULT);
      float[] out = new float[1];
      ExecutionReport report =
          compilation
              .createExecution()
              .setInput(0, Graphs.floats(0))
              .setInput(1, Graphs.floats(5))
              .setOutput(0, Graphs.floats(out))
              .setLoopTimeout(Duration.ofMillis(20))
              .compute();
      assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, report.code());
      assertTrue(report.message().contains("WHILE (operation 0)"), report.message());
      assertEquals(List.of("cpu", "fast"), Graphs.ranOn(report), "one entry for each step");
    }
  }

  @Test
  void aStepThatFailsInsideALoopIsRepeatedWithoutRestartingTheLoop() throws Exception {
    // AOSP's FailAfterInterpretedWhile, inside the loop: the third round fails on the device.
    AtomicInteger calls = new AtomicInteger();
    FaultyDevice device =
        new FaultyDevice(LimitedDevice.of("fast", 0.9, ARITHMETIC))
            .onExecute(
                (request, config) ->
                    calls.incrementAndGet() == 3
                        ? new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, "hiccup")
                        : null);
    try (TestRuntime runtime = TestRuntime.lenient(device, LimitedDevice.cpu())) {
      Compilation compilation =
          runtime.networks().compile(loop(increment()), CompilationOptions.DEFAULT);
      ExecutionReport[] report = new ExecutionReport[1];
      assertArrayEquals(new float[] {5}, run(compilation, report, 0, 5), report[0]::message);
      assertEquals(5, calls.get(), "each round asked the device once");
    }
  }

  @Test
  void nestedControlFlowComputes() throws Exception {
    // while (x < limit) { x = (flag ? x + one : x * one) + one } with flag constant true.
    Graphs.Builder g = new Graphs.Builder(1);
    int x = g.input("x");
    int limit = g.input("limit");
    int flag =
        g.raw()
            .constant(
                "flag",
                OperandCode.TENSOR_BOOL8,
                Shape.of(1),
                Quantization.NONE,
                new ConstantCopy(new byte[] {1}));
    int one = constant(g, 1);
    int zero = constant(g, 0);
    int inner = g.temporary("inner");
    int dead = g.temporary("dead");
    int sum = g.temporary("sum");
    g.raw()
        .operation(
            OperationCode.IF,
            List.of(flag, g.reference(2), g.reference(3), x, one),
            List.of(inner));
    g.op(OperationCode.MUL, limit, zero, dead);
    g.op(OperationCode.ADD, inner, one, sum);
    g.op(OperationCode.ADD, sum, dead, g.output("r"));
    Model outer = loop(g.build());
    Model model =
        new Model(
            outer.main(),
            List.of(
                outer.referenced().get(0),
                outer.referenced().get(1),
                binary(OperationCode.ADD, 1),
                binary(OperationCode.MUL, 1)),
            false);
    LimitedDevice device = LimitedDevice.of("fast", 0.9, OperationCode.ADD);
    try (TestRuntime runtime = TestRuntime.lenient(device, LimitedDevice.cpu())) {
      Compilation compilation = runtime.networks().compile(model, CompilationOptions.DEFAULT);
      ExecutionReport[] report = new ExecutionReport[1];
      assertArrayEquals(new float[] {8}, run(compilation, report, 0, 7), report[0]::message);
    }
  }
}
