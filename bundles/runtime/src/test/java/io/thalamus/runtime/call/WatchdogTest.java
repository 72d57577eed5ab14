// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.HangingDevice.Call;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Devices that do not answer, by a clock that the test moves. */
class WatchdogTest extends HangingDeviceFixture {
  private Compilation compile(Fallback fallback) throws Exception {
    return runtime
        .networks()
        .compile(Graphs.addThenMul(), CompilationOptions.DEFAULT.with(fallback));
  }

  private static List<String> planned(Compilation compilation) {
    return compilation.plan().steps().stream().map(Plan.Step::device).toList();
  }

  private ExecutionReport run(Compilation compilation) {
    float[] result = new float[4];
    ExecutionReport report = Graphs.addThenMulExecution(compilation, result).compute();
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(Graphs.addThenMulResult(), result);
    return report;
  }

  @Test
  void anExecutionThatHangsIsAnsweredElsewhere() throws Exception {
    runtime.add(npu.hang(Call.EXECUTE));
    Compilation compilation = compile(Fallback.ALLOW);
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64)) {
      Future<ExecutionReport> running =
          start(
              () ->
                  Graphs.addThenMulExecution(compilation, new float[4])
                      .setOutput(0, memory, 16, 16, Shape.NONE)
                      .compute());
      npu.awaitInside();
      time.advance(Duration.ofMillis(SETTINGS.firstExecutionMillis()).minusNanos(1));
      assertFalse(running.isDone(), "it may take that long");
      time.advance(Duration.ofNanos(1));
      ExecutionReport report = get(running);
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(
          Graphs.addThenMulResult(), memory.segment().asSlice(16, 16).toArray(Graphs.FLOAT));
      assertEquals(List.of("npu", "cpu"), Graphs.ranOn(report));
      assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.steps().get(0).code());

      DeviceDescription shown = description();
      assertEquals(State.QUARANTINED, shown.state());
      StuckCall stuck = shown.health().stuckCalls().get(0);
      assertTrue(stuck.thread().startsWith("thalamus-call-"), stuck.thread());
      assertEquals("execute", stuck.call());
      assertEquals(Duration.ofMillis(SETTINGS.firstExecutionMillis()), stuck.age());
      assertEquals("execute did not return in time", shown.reason());
      assertEquals(
          SteppedTime.START
              .plus(Duration.ofMillis(SETTINGS.firstExecutionMillis()))
              .plus(Duration.ofMillis(SETTINGS.quarantineMillis())),
          shown.health().quarantinedUntil().orElseThrow());

      // What the device writes after it was given up reaches nobody.
      memory.segment().fill((byte) 0);
      npu.letGo();
      Eventually.that("it returns", () -> description().health().stuckCalls().isEmpty());
      assertEquals(1, inner.executions());
      assertEquals(0f, memory.segment().get(Graphs.FLOAT, 16));
    }
    Eventually.that("the plan moves", () -> planned(compilation).equals(List.of("cpu")));
    assertEquals(List.of("cpu"), Graphs.ranOn(run(compilation)));
  }

  @Test
  void whatWasMeasuredShortensTheLimit() throws Exception {
    runtime.add(npu);
    Compilation compilation = compile(Fallback.ALLOW);
    run(compilation);
    npu.hang(Call.EXECUTE);
    Future<ExecutionReport> running = start(() -> run(compilation));
    npu.awaitInside();
    time.advance(Duration.ofMillis(SETTINGS.executionFloorMillis()));
    assertEquals(List.of("npu", "cpu"), Graphs.ranOn(get(running)));
  }

  @Test
  void whereFallbackIsDeniedTheCallerIsToldWhichOperationHangs() throws Exception {
    runtime.add(npu.hang(Call.EXECUTE));
    Compilation compilation = compile(Fallback.DENY);
    Future<ExecutionReport> running =
        start(() -> Graphs.addThenMulExecution(compilation, new float[4]).compute());
    npu.awaitInside();
    time.advance(Duration.ofMillis(SETTINGS.firstExecutionMillis()));
    ExecutionReport report = get(running);
    assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.code());
    assertEquals(
        "ADD (operation 0, and 1 more) failed on npu: it did not answer within 30000 ms"
            + " (this compilation allows no fallback)",
        report.message());
  }

  @Test
  void aCancelledCallHangsOnlyAtItsLimit() throws Exception {
    runtime.add(npu.hang(Call.EXECUTE));
    Compilation compilation = compile(Fallback.ALLOW);
    CompletableFuture<ExecutionReport> running =
        Graphs.addThenMulExecution(compilation, new float[4]).computeAsync();
    npu.awaitInside();
    int pending = time.pending();
    running.cancel(true);
    Eventually.that(
        "it is given up",
        () -> {
          time.advance(Duration.ofMillis(1));
          return !description().health().stuckCalls().isEmpty();
        });
    assertEquals(State.AVAILABLE, description().state(), "slow is legal");
    Eventually.that("it is to be looked at again", () -> time.pending() > pending);
    Duration toLimit =
        Duration.between(
            time.now(), SteppedTime.START.plus(Duration.ofMillis(SETTINGS.firstExecutionMillis())));
    time.advance(toLimit.minusMillis(1));
    assertEquals(State.AVAILABLE, description().state(), "slow is legal until the limit");
    // The clock may have moved between the look at it and the begin of the delay, which ends as
    // much later. No further than needed: the probe would hang too, in this thread.
    Eventually.that(
        "not to return is not",
        () -> {
          time.advance(Duration.ofMillis(1));
          return description().state() == State.QUARANTINED;
        });
  }

  @Test
  void aPrepareThatHangsIsLeftBehind() throws Exception {
    runtime.add(npu.hang(Call.PREPARE));
    Future<Compilation> compiling = start(() -> compile(Fallback.ALLOW));
    npu.awaitInside();
    time.advance(Duration.ofMillis(SETTINGS.prepareMillis()));
    Compilation compilation = get(compiling);
    assertEquals(List.of("cpu"), planned(compilation));
    run(compilation);
    assertEquals("prepare", description().health().stuckCalls().get(0).call());
    assertEquals(State.QUARANTINED, description().state());
    npu.letGo();
    Eventually.that("what came too late is closed", () -> inner.open() == 0);
  }

  @Test
  void aPromiseThatNeverComesIsNone() throws Exception {
    runtime.add(npu.hang(Call.SUPPORTED_OPERATIONS));
    Future<Compilation> compiling = start(() -> compile(Fallback.ALLOW));
    npu.awaitInside();
    time.advance(Duration.ofMillis(SETTINGS.answerMillis()));
    assertEquals(List.of("cpu"), planned(get(compiling)));
    assertEquals(State.QUARANTINED, description().state());
  }

  @Test
  void aDeviceThatDoesNotTellItsFactsHoldsUpNobody() throws Exception {
    npu.hang(Call.INFO);
    Future<?> arrival =
        start(
            () -> {
              runtime.add(npu);
              return null;
            });
    npu.awaitInside();
    time.advance(Duration.ofMillis(SETTINGS.answerMillis()));
    get(arrival);
    assertEquals(1, runtime.registry.devices().size());
    run(compile(Fallback.ALLOW));
  }

  @Test
  void aDeviceThatDoesNotCloseHoldsUpNoDeparture() throws Exception {
    runtime.add(npu);
    Compilation first = compile(Fallback.ALLOW);
    Compilation second = compile(Fallback.ALLOW);
    run(first);
    run(second);
    npu.hang(Call.CLOSE);
    Future<?> departure =
        start(
            () -> {
              runtime.remove(npu);
              return null;
            });
    npu.awaitInside();
    Eventually.that(
        "it is over",
        () -> {
          time.advance(Duration.ofMillis(SETTINGS.answerMillis()));
          return departure.isDone();
        });
    run(first);
    run(second);
  }

  @Test
  void aThreadThatNeverReturnsIsShownUntilItDoes() throws Exception {
    runtime.add(npu.hang(Call.EXECUTE));
    Compilation compilation = compile(Fallback.ALLOW);
    Future<ExecutionReport> running = start(() -> run(compilation));
    npu.awaitInside();
    time.advance(Duration.ofMillis(SETTINGS.firstExecutionMillis()));
    get(running);
    runtime.remove(npu);
    DeviceDescription shown = description();
    assertEquals(State.LEAKED, shown.state());
    assertEquals(1, shown.health().stuckCalls().size());
    assertFalse(shown.health().stuckCalls().get(0).classLoader().isBlank());
    LimitedDevice updated = LimitedDevice.floats("npu", 0.5);
    runtime.add(updated);
    assertEquals(
        List.of(State.AVAILABLE, State.AVAILABLE, State.LEAKED),
        runtime.networks().devices().stream().map(DeviceDescription::state).toList());
    runtime.remove(updated);
    npu.letGo();
    Eventually.that(
        "nothing is left of it",
        () -> runtime.networks().devices().stream().noneMatch(d -> d.id().equals("npu")));
  }

  @Test
  void aDeviceThatWaitsForItsCallsIsShownAsLeaving() throws Exception {
    runtime.add(npu.hang(Call.EXECUTE));
    Compilation compilation = compile(Fallback.ALLOW);
    Future<ExecutionReport> running = start(() -> run(compilation));
    npu.awaitInside();
    Future<?> departure =
        start(
            () -> {
              runtime.remove(npu);
              return null;
            });
    Eventually.that("it is leaving", () -> description().state() == State.LEAVING);
    npu.letGo();
    get(departure);
    assertEquals(List.of("npu"), Graphs.ranOn(get(running)));
    assertTrue(runtime.networks().devices().stream().noneMatch(d -> d.id().equals("npu")));
  }

  @Test
  void theRuntimeStopsWhateverItsDevicesDo() throws Exception {
    runtime.add(npu.hang(Call.EXECUTE));
    Compilation compilation = compile(Fallback.ALLOW);
    Future<ExecutionReport> running =
        start(() -> Graphs.addThenMulExecution(compilation, new float[4]).compute());
    npu.awaitInside();
    Future<?> stop =
        start(
            () -> {
              runtime.close();
              return null;
            });
    get(stop);
    get(running);
    List<Thread> left =
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().startsWith("thalamus-call-"))
            .toList();
    // Other tests have such threads too; none of them may keep a process alive.
    assertTrue(left.stream().allMatch(Thread::isDaemon), left::toString);
  }
}
