// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.health;

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
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.Request;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.registry.DeviceSettings;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The quarantine of devices that fail again and again, by a clock that the test moves. */
class QuarantineTest {
  private static final DeviceSettings SETTINGS = TestRuntime.SETTINGS;

  private final SteppedTime time = new SteppedTime();
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final FaultyDevice faultyCpu = new FaultyDevice(cpu);
  private final LimitedDevice inner = LimitedDevice.floats("npu", 0.5);
  private final FaultyDevice npu = new FaultyDevice(inner);
  private final TestRuntime runtime = TestRuntime.stepped(time, SETTINGS, faultyCpu, npu);

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, cpu.open() + inner.open(), "left open");
  }

  private Compilation compile(CompilationOptions options) throws Exception {
    return runtime.networks().compile(Graphs.addThenMul(), options);
  }

  private Compilation compile() throws Exception {
    return compile(CompilationOptions.DEFAULT);
  }

  private DeviceDescription description() {
    return runtime.networks().devices().get(0);
  }

  private static List<String> planned(Compilation compilation) {
    return compilation.plan().steps().stream().map(Plan.Step::device).toList();
  }

  private static ExecutionReport run(Compilation compilation) {
    float[] result = new float[4];
    ExecutionReport report = Graphs.addThenMulExecution(compilation, result).compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(Graphs.addThenMulResult(), result);
    return report;
  }

  private void failWith(ErrorStatus status) {
    npu.onExecute((request, config) -> new Failed(status, "out of order"));
  }

  private void run(Compilation compilation, int times) {
    for (int i = 0; i < times; i++) {
      run(compilation);
    }
  }

  private Duration delay() {
    return Duration.between(time.now(), description().health().quarantinedUntil().orElseThrow());
  }

  @Test
  void oneFailureTooManyMeansQuarantineUntilAProbePasses() throws Exception {
    Compilation compilation = compile();
    failWith(ErrorStatus.GENERAL_FAILURE);
    run(compilation, SETTINGS.failures() - 1);
    assertEquals(State.AVAILABLE, description().state());
    assertEquals(SETTINGS.failures() - 1, description().health().failures());
    String last = "execute: ADD (operation 0, and 1 more) failed on npu: out of order";
    assertEquals(Optional.of(last), description().health().lastFailure());
    run(compilation);
    assertEquals(State.QUARANTINED, description().state());
    assertEquals("it failed too often, at last: " + last, description().reason());
    Eventually.that("it moves", () -> planned(compilation).equals(List.of("cpu")));
    assertEquals(List.of("cpu"), planned(compile()), "nor is anything new planned there");

    time.advance(Duration.ofMillis(SETTINGS.quarantineMillis()));
    assertEquals(State.QUARANTINED, description().state(), "the probe failed");
    assertTrue(description().reason().contains("probe ADD failed: out of order"));
    npu.onExecute(null);
    time.advance(delay());
    assertEquals(State.AVAILABLE, description().state());
    assertEquals("", description().reason());
    Eventually.that("it moves back", () -> planned(compilation).equals(List.of("npu")));
    assertEquals(List.of("npu"), Graphs.ranOn(run(compilation)));
  }

  @Test
  void delaysGrowToACapAndAreForgottenByAGoodDevice() throws Exception {
    Compilation compilation = compile();
    failWith(ErrorStatus.GENERAL_FAILURE);
    run(compilation, SETTINGS.failures());
    Duration expected = Duration.ofMillis(SETTINGS.quarantineMillis());
    for (int i = 0; i < 15; i++) {
      assertEquals(expected, delay());
      time.advance(delay());
      expected = expected.multipliedBy(2);
      if (expected.compareTo(Duration.ofMillis(SETTINGS.longestQuarantineMillis())) > 0) {
        expected = Duration.ofMillis(SETTINGS.longestQuarantineMillis());
      }
    }
    assertEquals(Duration.ofMillis(SETTINGS.longestQuarantineMillis()), expected);
    npu.onExecute(null);
    time.advance(delay());
    Eventually.that("it serves", () -> planned(compilation).equals(List.of("npu")));
    time.advance(Duration.ofMillis(SETTINGS.longestQuarantineMillis()));
    failWith(ErrorStatus.GENERAL_FAILURE);
    run(compilation, SETTINGS.failures());
    assertEquals(Duration.ofMillis(SETTINGS.quarantineMillis()), delay());
  }

  @Test
  void aSecondQuarantineSoonAfterIsTwiceAsLong() throws Exception {
    Compilation compilation = compile();
    failWith(ErrorStatus.GENERAL_FAILURE);
    run(compilation, SETTINGS.failures());
    npu.onExecute(null);
    time.advance(delay());
    Eventually.that("it serves", () -> planned(compilation).equals(List.of("npu")));
    failWith(ErrorStatus.GENERAL_FAILURE);
    run(compilation, SETTINGS.failures());
    assertEquals(Duration.ofMillis(SETTINGS.quarantineMillis()).multipliedBy(2), delay());
    assertEquals(2, description().health().quarantines());
  }

  @Test
  void aProbeComparesTheAnswer() throws Exception {
    Compilation compilation = compile();
    failWith(ErrorStatus.GENERAL_FAILURE);
    run(compilation, SETTINGS.failures());
    npu.onExecute(
        (request, config) -> {
          request.pools(); // it says that it is done, and has written nothing
          return new io.thalamus.hal.ExecutionResult.Completed(
              List.of(), io.thalamus.model.Timing.NONE);
        });
    time.advance(delay());
    assertEquals(State.QUARANTINED, description().state());
    assertEquals("the probe ADD failed: element 0 is 0.0, not 2.0", description().reason());
  }

  @Test
  void failuresFarApartDoNotCountTogether() throws Exception {
    Compilation compilation = compile();
    failWith(ErrorStatus.GENERAL_FAILURE);
    for (int i = 0; i < 3 * SETTINGS.failures(); i++) {
      run(compilation);
      time.advance(
          Duration.ofMillis(SETTINGS.windowMillis())
              .dividedBy(SETTINGS.failures() - 1)
              .plusMillis(1));
    }
    assertEquals(State.AVAILABLE, description().state());
  }

  @ParameterizedTest
  @EnumSource(
      value = ErrorStatus.class,
      names = {"RESOURCE_EXHAUSTED_TRANSIENT", "DEVICE_UNAVAILABLE"})
  void whatPassesByItselfCountsAQuarter(ErrorStatus status) throws Exception {
    Compilation compilation = compile();
    failWith(status);
    run(compilation, 4 * SETTINGS.failures() - 1);
    assertEquals(State.AVAILABLE, description().state());
    run(compilation);
    assertEquals(State.QUARANTINED, description().state());
  }

  @Test
  void whatIsTooMuchForADeviceIsNotGivenToItAgain() throws Exception {
    Compilation compilation = compile();
    failWith(ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT);
    run(compilation);
    Eventually.that("it moves", () -> planned(compilation).equals(List.of("cpu")));
    npu.onExecute(null);
    runtime.add(LimitedDevice.of("marker", 3));
    assertEquals(State.AVAILABLE, description().state());
    assertEquals(0, description().health().quarantines());
    Compilation other = compile();
    assertEquals(List.of("npu"), Graphs.ranOn(run(other)), "others may fit");
    assertEquals(List.of("cpu"), Graphs.ranOn(run(compilation)));
  }

  @ParameterizedTest
  @EnumSource(
      value = ErrorStatus.class,
      names = {"INVALID_ARGUMENT", "MISSED_DEADLINE_TRANSIENT", "MISSED_DEADLINE_PERSISTENT"})
  void whatTheCallerDidIsNotHeldAgainstTheDevice(ErrorStatus status) throws Exception {
    Compilation compilation = compile();
    failWith(status);
    for (int i = 0; i < 5 * SETTINGS.failures(); i++) {
      Graphs.addThenMulExecution(compilation, new float[4]).compute();
    }
    assertEquals(State.AVAILABLE, description().state());
    assertEquals(0, description().health().failures());
  }

  @Test
  void whatNobodyCanExecuteIsNotHeldAgainstTheDevice() throws Exception {
    Compilation compilation = compile();
    failWith(ErrorStatus.GENERAL_FAILURE);
    faultyCpu.onExecute(
        (request, config) -> new Failed(ErrorStatus.GENERAL_FAILURE, "a bad index"));
    for (int i = 0; i < 5 * SETTINGS.failures(); i++) {
      ExecutionReport report = Graphs.addThenMulExecution(compilation, new float[4]).compute();
      assertEquals(ResultCode.OP_FAILED, report.code());
    }
    assertEquals(State.AVAILABLE, description().state());
  }

  @Test
  void theReferenceIsNeverInQuarantine() throws Exception {
    runtime.remove(npu);
    Compilation compilation = compile();
    faultyCpu.onExecute(
        (request, config) -> {
          throw new IllegalStateException("boom");
        });
    for (int i = 0; i < 5 * SETTINGS.failures(); i++) {
      Graphs.addThenMulExecution(compilation, new float[4]).compute();
    }
    faultyCpu.onExecute(null);
    run(compilation);
  }

  @Test
  void aDeviceThatKeepsFailingToPrepareIsInQuarantine() throws Exception {
    npu.onPrepare(
        model -> {
          throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the compiler crashed");
        });
    for (int i = 0; i < SETTINGS.failures(); i++) {
      assertEquals(List.of("cpu"), planned(compile()));
    }
    assertEquals(State.QUARANTINED, description().state());
    npu.onPrepare(null);
    time.advance(delay());
    assertEquals(List.of("npu"), planned(compile()));
  }

  @Test
  void whereFallbackIsDeniedTheQuarantineIsTold() throws Exception {
    Compilation compilation = compile(CompilationOptions.DEFAULT.with(Fallback.DENY));
    failWith(ErrorStatus.GENERAL_FAILURE);
    for (int i = 0; i < SETTINGS.failures(); i++) {
      assertEquals(
          ResultCode.OP_FAILED,
          Graphs.addThenMulExecution(compilation, new float[4]).compute().code());
    }
    ExecutionReport report = Graphs.addThenMulExecution(compilation, new float[4]).compute();
    assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.code());
    assertTrue(
        report.message().contains("failed on npu: it is in quarantine: it failed too often"),
        report.message());
    npu.onExecute(null);
    time.advance(delay());
    assertEquals(List.of("npu"), Graphs.ranOn(run(compilation)));
  }

  @Test
  void aDeviceInQuarantineCannotBeNamed() throws Exception {
    failWith(ErrorStatus.GENERAL_FAILURE);
    run(compile(), SETTINGS.failures());
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () -> compile(CompilationOptions.DEFAULT.withDevices(List.of("npu"))));
    assertEquals(ResultCode.UNAVAILABLE_DEVICE, e.code());
    assertTrue(e.getMessage().contains("'npu' is in quarantine: "), e.getMessage());
  }

  @Test
  void anUpdatedDeviceBeginsAnew() throws Exception {
    failWith(ErrorStatus.GENERAL_FAILURE);
    run(compile(), SETTINGS.failures());
    assertEquals(State.QUARANTINED, description().state());
    runtime.remove(npu);
    npu.onExecute(null);
    runtime.registry.addDevice(npu, Map.of());
    assertEquals(State.AVAILABLE, description().state());
    assertEquals(List.of("npu"), Graphs.ranOn(run(compile())));
  }

  @Test
  void aProbeNeverReachesTheOutputsOfAnybody() throws Exception {
    Compilation compilation = compile();
    failWith(ErrorStatus.GENERAL_FAILURE);
    run(compilation, SETTINGS.failures());
    int[] requests = new int[1];
    npu.onExecute(
        (Request request, io.thalamus.hal.ExecutionConfig config) -> {
          requests[0]++;
          assertEquals(1, request.pools().size());
          return null;
        });
    time.advance(delay());
    assertEquals(2, requests[0], "ADD and MUL");
    assertEquals(State.AVAILABLE, description().state());
  }
}
