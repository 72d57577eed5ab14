// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.call.StatusMapping;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** The repetition of work after a failure of a device: AOSP's partial and full fallback. */
class FallbackTest {
  private final LimitedDevice adder = LimitedDevice.of("adder", 0.5, OperationCode.ADD);
  private final LimitedDevice multiplier = LimitedDevice.of("multiplier", 0.5, OperationCode.MUL);
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final FaultyDevice faultyAdder = new FaultyDevice(adder);
  private final FaultyDevice faultyMultiplier = new FaultyDevice(multiplier);
  private final FaultyDevice faultyCpu = new FaultyDevice(cpu);
  private final TestRuntime runtime = TestRuntime.of(faultyAdder, faultyMultiplier, faultyCpu);

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, adder.open() + multiplier.open() + cpu.open(), "left open");
  }

  private Compilation compile(Fallback fallback) throws Exception {
    return runtime
        .networks()
        .compile(Graphs.addThenMul(), CompilationOptions.DEFAULT.with(fallback));
  }

  private static ExecutionResult general() {
    return new Failed(ErrorStatus.GENERAL_FAILURE, "out of order");
  }

  private static List<ResultCode> codes(ExecutionReport report) {
    return report.steps().stream().map(ExecutionReport.StepReport::code).toList();
  }

  @ParameterizedTest
  @EnumSource(
      value = ErrorStatus.class,
      mode = Mode.EXCLUDE,
      names = {
        "NONE",
        "OUTPUT_INSUFFICIENT_SIZE",
        "MISSED_DEADLINE_TRANSIENT",
        "MISSED_DEADLINE_PERSISTENT",
        // Lasting: the compilation is planned again, see QuarantineTest.
        "RESOURCE_EXHAUSTED_PERSISTENT"
      })
  void theFailedStepIsRepeatedOnTheCpu(ErrorStatus status) throws Exception {
    faultyMultiplier.onExecute((request, config) -> new Failed(status, "out of order"));
    Compilation compilation = compile(Fallback.ALLOW);
    for (int i = 0; i < 3; i++) {
      float[] result = new float[4];
      ExecutionReport report = Graphs.addThenMulExecution(compilation, result).compute();
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(Graphs.addThenMulResult(), result);
      assertEquals(List.of("adder", "multiplier", "cpu"), Graphs.ranOn(report));
      assertEquals(
          List.of(ResultCode.NO_ERROR, StatusMapping.toResultCode(status), ResultCode.NO_ERROR),
          codes(report));
    }
    assertEquals(1, cpu.prepared().size(), "the repeated step is prepared once");
  }

  @ParameterizedTest
  @EnumSource(
      value = ErrorStatus.class,
      names = {"MISSED_DEADLINE_TRANSIENT", "MISSED_DEADLINE_PERSISTENT"})
  void aMissedDeadlineIsNotRepeated(ErrorStatus status) throws Exception {
    faultyMultiplier.onExecute((request, config) -> new Failed(status, "late"));
    ExecutionReport report =
        Graphs.addThenMulExecution(compile(Fallback.ALLOW), new float[4]).compute();
    assertEquals(StatusMapping.toResultCode(status), report.code());
    assertEquals(0, cpu.executions());
  }

  @Test
  void aDeviceThatThrowsOrTalksNonsenseIsLikeOneThatFails() throws Exception {
    Compilation compilation = compile(Fallback.WARN);
    List<FaultyDevice.Execute> faults =
        List.of(
            (request, config) -> {
              throw new IllegalStateException("boom");
            },
            (request, config) -> {
              throw new NoClassDefFoundError("gone/with/the/Bundle");
            },
            (request, config) -> new ExecutionResult.OutputInsufficientSize(List.of()),
            (request, config) ->
                new ExecutionResult.Completed(
                    Stream.generate(
                            () ->
                                new io.thalamus.model.OutputShape(
                                    io.thalamus.model.Shape.of(2, 2), true))
                        .limit(3)
                        .toList(),
                    io.thalamus.model.Timing.NONE));
    for (FaultyDevice.Execute fault : faults) {
      faultyAdder.onExecute(fault);
      float[] result = new float[4];
      ExecutionReport report = Graphs.addThenMulExecution(compilation, result).compute();
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(Graphs.addThenMulResult(), result);
      assertEquals(List.of("adder", "cpu", "multiplier"), Graphs.ranOn(report));
      assertEquals(ResultCode.OP_FAILED, report.steps().get(0).code());
    }
  }

  @Test
  void whereTheStepFailsOnTheCpuTooTheWholeModelIsTriedThere() throws Exception {
    faultyMultiplier.onExecute((request, config) -> general());
    int[] calls = new int[1];
    faultyCpu.onExecute((request, config) -> calls[0]++ == 0 ? general() : null);
    float[] result = new float[4];
    ExecutionReport report = Graphs.addThenMulExecution(compile(Fallback.ALLOW), result).compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(Graphs.addThenMulResult(), result);
    assertEquals(List.of("adder", "multiplier", "cpu", "cpu"), Graphs.ranOn(report));
    assertEquals(2, report.steps().get(3).operations());
  }

  @Test
  void whereNothingHelpsTheReasonIsTold() throws Exception {
    faultyMultiplier.onExecute((request, config) -> general());
    faultyCpu.onExecute((request, config) -> general());
    float[] result = new float[4];
    ExecutionReport report = Graphs.addThenMulExecution(compile(Fallback.ALLOW), result).compute();
    assertEquals(ResultCode.OP_FAILED, report.code());
    assertEquals("ADD (operation 0, and 1 more) failed on cpu: out of order", report.message());
    assertArrayEquals(new float[4], result);
    assertTrue(report.outputs().isEmpty());
  }

  @Test
  void denyNamesOperationAndReason() throws Exception {
    faultyMultiplier.onExecute((request, config) -> general());
    ExecutionReport report =
        Graphs.addThenMulExecution(compile(Fallback.DENY), new float[4]).compute();
    assertEquals(ResultCode.OP_FAILED, report.code());
    assertEquals(
        "MUL (operation 1) failed on multiplier: out of order"
            + " (this compilation allows no fallback)",
        report.message());
    assertEquals(0, cpu.executions());
  }

  @Test
  void onlyNamedDevicesAreFallenBackTo() throws Exception {
    faultyMultiplier.onExecute((request, config) -> general());
    Compilation compilation =
        runtime
            .networks()
            .compile(
                Graphs.addThenMul(),
                CompilationOptions.DEFAULT.withDevices(List.of("adder", "multiplier")));
    ExecutionReport report = Graphs.addThenMulExecution(compilation, new float[4]).compute();
    assertEquals(ResultCode.OP_FAILED, report.code());
    assertTrue(report.message().contains("no other device takes it"), report.message());
    assertEquals(0, cpu.executions());
  }

  @Test
  void aDeviceThatCannotPrepareIsLeftOut() throws Exception {
    faultyMultiplier.onPrepare(
        model -> {
          throw new DeviceException(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "full");
        });
    Compilation compilation = compile(Fallback.ALLOW);
    assertEquals(
        List.of("adder", "cpu"),
        compilation.plan().steps().stream().map(Plan.Step::device).toList());
    assertEquals(1, adder.open(), "what was prepared in vain is closed");
    float[] result = new float[4];
    assertTrue(Graphs.addThenMulExecution(compilation, result).compute().isSuccess());
    assertArrayEquals(Graphs.addThenMulResult(), result);
  }

  @Test
  void denyAndBadDataFailTheCompilation() {
    faultyMultiplier.onPrepare(
        model -> {
          throw new DeviceException(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "full");
        });
    NeuralNetworksException denied =
        assertThrows(NeuralNetworksException.class, () -> compile(Fallback.DENY));
    assertEquals(ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, denied.code());
    assertEquals("MUL (operation 1) was not prepared by multiplier: full", denied.getMessage());
    faultyMultiplier.onPrepare(
        model -> {
          throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "I do not like it");
        });
    NeuralNetworksException bad =
        assertThrows(NeuralNetworksException.class, () -> compile(Fallback.ALLOW));
    assertEquals(ResultCode.BAD_DATA, bad.code());
  }

  @Test
  void unknownAndRepeatedNamesAreRefused() {
    for (List<String> names :
        List.of(List.of("gpu"), List.of("cpu", "thalamus-cpu"), List.of("cpu", "gpu"))) {
      NeuralNetworksException e =
          assertThrows(
              NeuralNetworksException.class,
              () ->
                  runtime
                      .networks()
                      .compile(Graphs.addThenMul(), CompilationOptions.DEFAULT.withDevices(names)));
      assertEquals(ResultCode.BAD_DATA, e.code());
    }
  }

  @Test
  void aTimeoutNeedsOneDevice() {
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () ->
                runtime
                    .networks()
                    .compile(
                        Graphs.addThenMul(),
                        CompilationOptions.DEFAULT.withTimeout(java.time.Duration.ofSeconds(1))));
    assertEquals(ResultCode.BAD_DATA, e.code());
  }
}
