// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.registry.DeviceSettings;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Samples of executions, compared with the reference. */
class ReferenceCheckTest {
  private final SteppedTime time = new SteppedTime();
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final LimitedDevice multiplier = LimitedDevice.of("npu", 0.5, OperationCode.MUL);
  private final FaultyDevice npu = new FaultyDevice(multiplier);

  @DeviceSettings(drainMillis = 60_000, samplingRate = 1)
  private static final class Sampling {}

  private TestRuntime runtime = TestRuntime.stepped(time, TestRuntime.SETTINGS, npu, cpu);

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, cpu.open() + multiplier.open(), "left open");
  }

  private Compilation compile(CompilationOptions options) throws Exception {
    return runtime.networks().compile(Graphs.addThenMul(), options);
  }

  private Compilation sampled(double rate) throws Exception {
    return compile(CompilationOptions.DEFAULT.withSampling(rate));
  }

  private DeviceDescription description() {
    return runtime.networks().devices().get(0);
  }

  private static ExecutionReport run(Compilation compilation) {
    float[] result = new float[4];
    ExecutionReport report = Graphs.addThenMulExecution(compilation, result).compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(Graphs.addThenMulResult(), result);
    return report;
  }

  /** Says that it is done, and writes the same value to all elements. */
  private static FaultyDevice.Execute writes(float value) {
    return (request, config) -> {
      fill(request, value);
      return new Completed(List.of(), Timing.NONE);
    };
  }

  private static void fill(Request request, float value) {
    Request.Location place = (Request.Location) request.outputs().get(0);
    MemoryPool.Shared pool = (MemoryPool.Shared) request.pools().get(place.pool());
    MemorySegment bytes = pool.memory().segment().asSlice(place.offset(), place.length());
    for (long i = 0; i < bytes.byteSize(); i += 4) {
      bytes.set(Graphs.FLOAT, i, value);
    }
  }

  @Test
  void aRightAnswerStays() throws Exception {
    Compilation compilation = sampled(1);
    for (int i = 0; i < 3; i++) {
      assertEquals(List.of("cpu", "npu"), Graphs.ranOn(run(compilation)));
    }
    assertEquals(3, description().health().samples());
    assertEquals(0, description().health().mismatches());
    assertEquals(State.AVAILABLE, description().state());
    assertEquals(6, cpu.executions(), "three times its own step, three times the other");
    assertEquals(2, cpu.prepared().size(), "prepared once for all second opinions");
  }

  @Test
  void aWrongAnswerIsReplacedAndTheDeviceIsInQuarantine() throws Exception {
    npu.onExecute(writes(44.5f));
    Compilation compilation = sampled(1);
    ExecutionReport report = run(compilation);
    assertEquals(List.of("cpu", "npu", "cpu"), Graphs.ranOn(report));
    assertEquals(ResultCode.OP_FAILED, report.steps().get(1).code());
    assertEquals(1, description().health().mismatches());
    assertEquals(State.QUARANTINED, description().state());
    assertEquals(
        "it computed something wrong: MUL (operation 1), output 0: element 0 is 44.5, on the"
            + " reference 22.0; 4 of 4 differ",
        description().reason());
    npu.onExecute(null);
    time.advance(Duration.ofMillis(TestRuntime.SETTINGS.quarantineMillis()));
    assertEquals(State.AVAILABLE, description().state());
  }

  /** A device for an operation that no probe knows: it would pass them all. */
  private FaultyDevice addSubtractor() {
    FaultyDevice device =
        new FaultyDevice(LimitedDevice.of("sub", 0.25, OperationCode.SUB)).onExecute(writes(1));
    runtime.add(device);
    return device;
  }

  private ExecutionReport subtract(Compilation compilation) {
    float[] result = new float[4];
    ExecutionReport report =
        compilation
            .createExecution()
            .setInput(0, Graphs.floats(5, 7, 9, 11))
            .setInput(1, Graphs.floats(1, 2, 3, 4))
            .setOutput(0, Graphs.floats(result))
            .compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(new float[] {4, 5, 6, 7}, result);
    return report;
  }

  private Compilation sampledSubtraction() throws Exception {
    Graphs.Builder g = new Graphs.Builder(2, 2);
    int a = g.input("a");
    int b = g.input("b");
    g.op(OperationCode.SUB, a, b, g.output("difference"));
    return runtime.networks().compile(g.model(), CompilationOptions.DEFAULT.withSampling(1));
  }

  private DeviceDescription subtractor() {
    return runtime.networks().devices().stream()
        .filter(device -> device.id().equals("sub"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aDeviceComesBackOnlyOnceItComputesWhatWasWrong() throws Exception {
    FaultyDevice faulty = addSubtractor();
    assertEquals(List.of("sub", "cpu"), Graphs.ranOn(subtract(sampledSubtraction())));
    time.advance(Duration.ofMillis(TestRuntime.SETTINGS.quarantineMillis()));
    assertEquals(State.QUARANTINED, subtractor().state());
    assertEquals(
        "it computed SUB (operation 0) wrongly, and not better when tried again: output 0: element"
            + " 0 is 1.0, on the reference 4.0; 4 of 4 differ",
        subtractor().reason());
    faulty.onExecute(null);
    time.advance(Duration.ofMillis(TestRuntime.SETTINGS.quarantineMillis()).multipliedBy(2));
    assertEquals(State.AVAILABLE, subtractor().state());
    assertEquals(List.of("sub"), Graphs.ranOn(subtract(sampledSubtraction())));
  }

  @Test
  void aDeviceThatDoesNotPrepareWhatWasWrongStaysAway() throws Exception {
    FaultyDevice faulty = addSubtractor();
    subtract(sampledSubtraction());
    faulty.onExecute(null);
    faulty.onPrepare(
        model -> {
          throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "not again");
        });
    time.advance(Duration.ofMillis(TestRuntime.SETTINGS.quarantineMillis()));
    assertEquals(State.QUARANTINED, subtractor().state());
    assertTrue(subtractor().reason().endsWith("not again"), subtractor().reason());
    runtime.remove(faulty);
    time.advance(Duration.ofMillis(TestRuntime.SETTINGS.longestQuarantineMillis()));
    assertEquals(0, time.pending(), "nobody looks at a device that has left");
  }

  @Test
  void aNanIsWrong() throws Exception {
    npu.onExecute(writes(Float.NaN));
    run(sampled(1));
    assertEquals(1, description().health().mismatches());
  }

  @Test
  void sharedMemoryOfTheCallerGetsTheRightAnswerEvenFromAnUnguardedDevice() throws Exception {
    LimitedDevice fast =
        new LimitedDevice(
            LimitedDevice.info("test-fast", DeviceType.CPU, 0.3).build(),
            (graph, operation) -> operation.type() == OperationCode.MUL);
    runtime.add(new FaultyDevice(fast).onExecute(writes(1)));
    Compilation compilation = sampled(1);
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64)) {
      ExecutionReport report =
          Graphs.addThenMulExecution(compilation, new float[4])
              .setOutput(0, memory, 16, 16, Shape.NONE)
              .compute();
      assertTrue(report.isSuccess(), report.message());
      assertEquals(List.of("cpu", "fast", "cpu"), Graphs.ranOn(report));
      assertArrayEquals(
          Graphs.addThenMulResult(), memory.segment().asSlice(16, 16).toArray(Graphs.FLOAT));
    }
  }

  @Test
  void whereFallbackIsDeniedTheExecutionFails() throws Exception {
    npu.onExecute(writes(1));
    Compilation compilation =
        compile(CompilationOptions.DEFAULT.with(Fallback.DENY).withSampling(1));
    ExecutionReport report = Graphs.addThenMulExecution(compilation, new float[4]).compute();
    assertEquals(ResultCode.OP_FAILED, report.code());
    assertTrue(
        report.message().startsWith("MUL (operation 1) failed on npu: it computed something wrong"),
        report.message());
  }

  @Test
  void whereTheReferenceIsNotAmongTheDevicesItIsOnlyAsked() throws Exception {
    LimitedDevice adder = LimitedDevice.of("adder", 0.5, OperationCode.ADD);
    runtime.add(adder);
    npu.onExecute(writes(1));
    Compilation compilation =
        compile(CompilationOptions.DEFAULT.withDevices(List.of("adder", "npu")).withSampling(1));
    ExecutionReport report = Graphs.addThenMulExecution(compilation, new float[4]).compute();
    assertEquals(ResultCode.OP_FAILED, report.code());
    assertEquals(List.of("adder", "npu"), Graphs.ranOn(report));
    assertTrue(report.message().contains("no other device takes it"), report.message());
  }

  @ParameterizedTest
  @CsvSource({"0, 10, 0", "1, 10, 10", "0.5, 10, 5", "0.3, 10, 3", "0.01, 10, 1"})
  void asManyAsTheRateSaysAreSampled(double rate, int executions, int samples) throws Exception {
    Compilation compilation = sampled(rate);
    for (int i = 0; i < executions; i++) {
      run(compilation);
    }
    assertEquals(samples, description().health().samples());
  }

  @Test
  void whatTheRuntimeIsConfiguredToCountsWhereTheOptionsSayNothing() throws Exception {
    runtime.close();
    runtime = TestRuntime.stepped(time, TestRuntime.settings(Sampling.class), npu, cpu);
    run(compile(CompilationOptions.DEFAULT));
    run(sampled(0));
    assertEquals(1, description().health().samples());
    assertThrows(IllegalArgumentException.class, () -> sampled(1.5));
    assertThrows(IllegalArgumentException.class, () -> sampled(Double.NaN));
  }

  @Test
  void withoutAReferenceNothingIsCompared() throws Exception {
    runtime.remove(cpu);
    LimitedDevice adder = LimitedDevice.of("adder", 0.5, OperationCode.ADD);
    runtime.add(adder);
    assertEquals(List.of("adder", "npu"), Graphs.ranOn(run(sampled(1))));
    assertEquals(0, description().health().samples());
  }

  /** The wrong answer claims less room than the right one has. */
  @Test
  void aWrongSizeOfAnOpenOutputIsReplacedToo() throws Exception {
    npu.onExecute(
        (request, config) -> {
          fill(request, 1);
          return new Completed(List.of(new OutputShape(Shape.of(1, 2), true)), Timing.NONE);
        });
    Graphs.Builder g = new Graphs.Builder(0, 2);
    int in = g.input("x");
    int out = g.output("y");
    g.op(OperationCode.MUL, in, in, out);
    try (Compilation compilation =
        runtime.networks().compile(g.model(), CompilationOptions.DEFAULT.withSampling(1))) {
      float[] result = new float[4];
      ExecutionReport report =
          compilation
              .createExecution()
              .setInput(0, Graphs.floats(1, 2, 3, 4), Shape.of(2, 2))
              .setOutput(0, Graphs.floats(result))
              .compute();
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(new float[] {1, 4, 9, 16}, result);
      assertEquals(List.of("npu", "cpu"), Graphs.ranOn(report));
      assertEquals(Shape.of(2, 2), report.outputs().get(0).shape());
    }
  }
}
