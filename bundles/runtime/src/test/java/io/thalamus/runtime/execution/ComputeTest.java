// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Arguments, results and reports of synchronous executions. */
class ComputeTest {
  private final LimitedDevice adder = LimitedDevice.of("adder", 0.5, OperationCode.ADD);
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final TestRuntime runtime = TestRuntime.of(adder, cpu);

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, adder.open() + cpu.open(), "prepared models left open");
  }

  private Compilation compile(Model model) throws Exception {
    return runtime.networks().compile(model, CompilationOptions.DEFAULT);
  }

  @Test
  void twoDevicesComputeOneResult() throws Exception {
    Compilation compilation = compile(Graphs.addThenMul());
    for (int i = 0; i < 3; i++) {
      float[] result = new float[4];
      ExecutionReport report = Graphs.addThenMulExecution(compilation, result).compute();
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(Graphs.addThenMulResult(), result);
      assertEquals(List.of("adder", "cpu"), Graphs.ranOn(report));
      assertEquals(List.of(new OutputShape(Shape.of(2, 2), true)), report.outputs());
      report.steps().forEach(step -> assertEquals(1, step.operations()));
    }
  }

  @Test
  void sharedMemoryIsUsedAtItsOffset() throws Exception {
    Compilation compilation = compile(Graphs.addThenMul());
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 256)) {
      float[][] inputs = {{1, 2, 3, 4}, {10, 20, 30, 40}, {2, 2, 2, 3}};
      Execution execution = compilation.createExecution();
      for (int i = 0; i < 3; i++) {
        MemorySegment.copy(Graphs.floats(inputs[i]), 0, memory.segment(), 32L * i, 16);
        execution.setInput(i, memory, 32L * i, 16, Shape.NONE);
      }
      execution.setOutput(0, memory, 128, 16, Shape.NONE);
      ExecutionReport report = execution.compute();
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(
          Graphs.addThenMulResult(), memory.segment().asSlice(128, 16).toArray(Graphs.FLOAT));
      assertEquals(0f, memory.segment().get(Graphs.FLOAT, 144));
    }
  }

  private static void assertBadData(String expected, Execution execution) {
    ExecutionReport report = execution.compute();
    assertEquals(ResultCode.BAD_DATA, report.code());
    assertEquals(expected, report.message());
    assertTrue(report.outputs().isEmpty());
  }

  @Test
  void wrongArgumentsAreNamed() throws Exception {
    Compilation compilation = compile(Graphs.twice(1, 32, 32, 3));
    MemorySegment good = MemorySegment.ofArray(new float[32 * 32 * 3]);
    assertBadData(
        "input 0 'x' wants 12,288 bytes (1x32x32x3 TENSOR_FLOAT32), got 100",
        compilation.createExecution().setInput(0, MemorySegment.ofArray(new byte[100])));
    assertBadData(
        "output 0 'y' wants 12,288 bytes (1x32x32x3 TENSOR_FLOAT32), got 12,289",
        compilation
            .createExecution()
            .setInput(0, good)
            .setOutput(0, MemorySegment.ofArray(new byte[12289])));
    assertBadData(
        "input 0 'x' is 1x32x32x3, got the shape 1x28x28x3",
        compilation.createExecution().setInput(0, good, Shape.of(1, 28, 28, 3)));
    assertBadData(
        "input 0 'x' is 1x32x32x3, got the shape 3072",
        compilation.createExecution().setInput(0, good, Shape.of(3072)));
    assertBadData("input 0 'x' is not set", compilation.createExecution());
    assertBadData("output 0 'y' is not set", compilation.createExecution().setInput(0, good));
    assertBadData(
        "output 0 'y' stands in read-only memory",
        compilation.createExecution().setInput(0, good).setOutput(0, good.asReadOnly()));
    Execution execution = compilation.createExecution();
    assertThrows(IllegalArgumentException.class, () -> execution.setInput(1, good));
    assertThrows(IllegalArgumentException.class, () -> execution.setOutput(-1, good));
    assertEquals(0, adder.executions());
  }

  @Test
  void wrongRangesAndClosedMemoriesAreNamed() throws Exception {
    Compilation compilation = compile(Graphs.twice(2));
    MemorySegment out = MemorySegment.ofArray(new float[2]);
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
    assertBadData(
        "input 0 'x' at offset 60 with 8 bytes is not inside its memory of 64 bytes",
        compilation.createExecution().setInput(0, memory, 60, 8, Shape.NONE).setOutput(0, out));
    assertBadData(
        "input 0 'x' at offset -1 with 8 bytes is not inside its memory of 64 bytes",
        compilation.createExecution().setInput(0, memory, -1, 8, Shape.NONE).setOutput(0, out));
    memory.close();
    assertBadData(
        "an argument stands in shared memory that is closed",
        compilation.createExecution().setInput(0, memory, 0, 8, Shape.NONE).setOutput(0, out));
    Arena arena = Arena.ofConfined();
    MemorySegment gone = arena.allocate(8);
    arena.close();
    assertBadData(
        "input 0 'x' stands in memory that is closed",
        compilation.createExecution().setInput(0, gone).setOutput(0, out));
  }

  @Test
  void anExecutionRunsOnce() throws Exception {
    Compilation compilation = compile(Graphs.addThenMul());
    float[] result = new float[4];
    Execution execution = Graphs.addThenMulExecution(compilation, result);
    assertTrue(execution.compute().isSuccess());
    assertEquals(ResultCode.BAD_STATE, execution.compute().code());
    assertEquals(ResultCode.BAD_STATE, execution.computeAsync().join().code());
    assertThrows(IllegalStateException.class, () -> execution.setOutput(0, Graphs.floats(result)));
  }

  @Test
  void aClosedCompilationDoesNotRun() throws Exception {
    Compilation compilation = compile(Graphs.addThenMul());
    Execution execution = Graphs.addThenMulExecution(compilation, new float[4]);
    compilation.close();
    compilation.close();
    assertEquals(ResultCode.BAD_STATE, execution.compute().code());
    assertThrows(IllegalStateException.class, compilation::createExecution);
  }

  @Test
  void timingNeedsExactlyOneNamedDevice() throws Exception {
    Compilation all = compile(Graphs.addThenMul());
    ExecutionReport refused =
        Graphs.addThenMulExecution(all, new float[4]).setMeasureTiming(true).compute();
    assertEquals(ResultCode.BAD_DATA, refused.code());
    Compilation one =
        runtime
            .networks()
            .compile(
                Graphs.addThenMul(),
                CompilationOptions.DEFAULT.withDevices(List.of("thalamus-cpu")));
    ExecutionReport measured =
        Graphs.addThenMulExecution(one, new float[4]).setMeasureTiming(true).compute();
    assertTrue(measured.isSuccess(), measured.message());
    assertTrue(measured.timing().inDriver().isPresent());
    assertTrue(
        measured.timing().onDevice().get().compareTo(measured.timing().inDriver().get()) <= 0);
    assertFalse(
        Graphs.addThenMulExecution(one, new float[4]).compute().timing().inDriver().isPresent());
  }

  @Test
  void stepsAreMeasuredOnAnyNumberOfDevices() throws Exception {
    Compilation all = compile(Graphs.addThenMul());
    ExecutionReport report =
        Graphs.addThenMulExecution(all, new float[4]).setMeasureSteps(true).compute();
    assertTrue(report.isSuccess(), report.message());
    assertEquals(Timing.NONE, report.timing(), "that of the whole was not asked for");
    for (ExecutionReport.StepReport step : report.steps()) {
      ExecutionReport.Durations durations = step.durations().orElseThrow();
      assertTrue(durations.inDriver().get().compareTo(step.duration()) <= 0, step::toString);
      assertTrue(durations.onHardware().get().compareTo(durations.inDriver().get()) <= 0);
      assertEquals(Optional.empty(), durations.fencedInDriver());
    }
    for (ExecutionReport.StepReport step :
        Graphs.addThenMulExecution(all, new float[4]).compute().steps()) {
      assertEquals(Optional.empty(), step.durations());
    }
  }

  @Test
  void openDimensionsComeWithTheInput() throws Exception {
    Compilation compilation = compile(Graphs.twice(0, 2));
    float[] result = new float[8];
    ExecutionReport report =
        compilation
            .createExecution()
            .setInput(0, Graphs.floats(1, 2, 3, 4, 5, 6), Shape.of(3, 2))
            .setOutput(0, Graphs.floats(result))
            .compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(new float[] {2, 4, 6, 8, 10, 12, 0, 0}, result);
    assertEquals(List.of(new OutputShape(Shape.of(3, 2), true)), report.outputs());
    assertBadData(
        "input 0 'x' has open dimensions (?x2): give its shape with its value",
        compilation
            .createExecution()
            .setInput(0, Graphs.floats(1, 2, 3, 4))
            .setOutput(0, Graphs.floats(result)));
  }

  @Test
  void aBufferTooSmallTellsAllShapes() throws Exception {
    Graphs.Builder g = new Graphs.Builder(0, 2);
    int x = g.input("x");
    g.op(OperationCode.ADD, x, x, g.output("big"));
    g.op(OperationCode.MUL, x, x, g.output("small"));
    Compilation compilation =
        runtime
            .networks()
            .compile(g.model(), CompilationOptions.DEFAULT.withDevices(List.of("cpu")));
    float[] big = new float[6];
    float[] small = new float[5];
    ExecutionReport report =
        compilation
            .createExecution()
            .setInput(0, Graphs.floats(1, 2, 3, 4, 5, 6), Shape.of(3, 2))
            .setOutput(0, Graphs.floats(big))
            .setOutput(1, Graphs.floats(small))
            .compute();
    assertEquals(ResultCode.OUTPUT_INSUFFICIENT_SIZE, report.code());
    assertEquals(
        List.of(new OutputShape(Shape.of(3, 2), true), new OutputShape(Shape.of(3, 2), false)),
        report.outputs());
    assertArrayEquals(new float[6], big, "nothing is copied out of a failure");
    assertEquals("a buffer is too small: output 1 'small' is 3x2", report.message());
  }

  @Test
  void aBufferTooSmallInALaterStepKeepsTheShapesOfTheEarlierOnes() throws Exception {
    Graphs.Builder g = new Graphs.Builder(0, 2);
    int x = g.input("x");
    int sum = g.output("sum");
    g.op(OperationCode.ADD, x, x, sum);
    g.op(OperationCode.MUL, sum, sum, g.output("square"));
    Compilation compilation = compile(g.model());
    assertEquals(2, compilation.plan().steps().size());
    ExecutionReport report =
        compilation
            .createExecution()
            .setInput(0, Graphs.floats(1, 2), Shape.of(1, 2))
            .setOutput(0, MemorySegment.ofArray(new byte[64]))
            .setOutput(1, MemorySegment.ofArray(new byte[4]))
            .compute();
    assertEquals(ResultCode.OUTPUT_INSUFFICIENT_SIZE, report.code(), report.message());
    assertEquals(
        List.of(new OutputShape(Shape.of(1, 2), true), new OutputShape(Shape.of(1, 2), false)),
        report.outputs());
    float[] square = new float[2];
    ExecutionReport again =
        compilation
            .createExecution()
            .setInput(0, Graphs.floats(3, 4), Shape.of(1, 2))
            .setOutput(0, MemorySegment.ofArray(new byte[64]))
            .setOutput(1, Graphs.floats(square))
            .compute();
    assertTrue(again.isSuccess(), again.message());
    assertArrayEquals(new float[] {36, 64}, square);
  }

  @Test
  void anIgnoredOutputIsComputedForTheOtherSteps() throws Exception {
    Graphs.Builder g = new Graphs.Builder(2);
    int x = g.input("x");
    int sum = g.output("sum");
    g.op(OperationCode.ADD, x, x, sum);
    g.op(OperationCode.MUL, sum, sum, g.output("square"));
    float[] square = new float[2];
    ExecutionReport report =
        compile(g.model())
            .createExecution()
            .setInput(0, Graphs.floats(3, 4))
            .setOutput(0, MemorySegment.NULL)
            .setOutput(1, Graphs.floats(square))
            .compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(new float[] {36, 64}, square);
  }

  @Test
  void unknownSizesAtABoundarySendTheWholeModelToTheCpu() throws Exception {
    Graphs.Builder g = new Graphs.Builder(0, 2);
    int x = g.input("x");
    int t = g.temporary("t");
    g.op(OperationCode.ADD, x, x, t);
    g.op(OperationCode.MUL, t, t, g.output("y"));
    Compilation compilation = compile(g.model());
    assertEquals(1, compilation.plan().steps().size());
    float[] y = new float[2];
    ExecutionReport report =
        compilation
            .createExecution()
            .setInput(0, Graphs.floats(3, 4), Shape.of(1, 2))
            .setOutput(0, Graphs.floats(y))
            .compute();
    assertArrayEquals(new float[] {36, 64}, y, report.message());
    assertEquals(List.of("cpu"), Graphs.ranOn(report));
  }
}
