// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.HangingDevice.Call;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Devices that do not answer what a burst sent, by a clock that the test moves. */
class WatchedBurstTest extends HangingDeviceFixture {
  private static final Duration FIRST = Duration.ofMillis(SETTINGS.firstExecutionMillis());

  private Compilation compile() throws Exception {
    return runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT);
  }

  private static ExecutionReport run(Compilation compilation, Burst burst) {
    float[] result = new float[4];
    ExecutionReport report = Graphs.addThenMulExecution(compilation, result).burstCompute(burst);
    assertTrue(report.isSuccess(), report.message());
    assertArrayEquals(Graphs.addThenMulResult(), result);
    return report;
  }

  @Test
  void aRequestThatHangsIsAnsweredElsewhereAndItsMemoryStays() throws Exception {
    runtime.add(npu.hang(Call.EXECUTE));
    Compilation compilation = compile();
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
        Burst burst = compilation.createBurst()) {
      Future<ExecutionReport> running =
          start(
              () ->
                  Graphs.addThenMulExecution(compilation, new float[4])
                      .setOutput(0, memory, 16, 16, Shape.NONE)
                      .burstCompute(burst));
      npu.awaitInside();
      time.advance(FIRST.minusNanos(1));
      assertFalse(running.isDone(), "it may take that long");
      time.advance(Duration.ofNanos(1));
      ExecutionReport report = get(running);
      assertTrue(report.isSuccess(), report.message());
      assertArrayEquals(
          Graphs.addThenMulResult(), memory.segment().asSlice(16, 16).toArray(Graphs.FLOAT));
      assertEquals(List.of("npu", "cpu"), Graphs.ranOn(report));
      assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.steps().get(0).code());
      assertEquals(State.QUARANTINED, description().state());
      assertEquals("execute did not return in time", description().reason());
      Eventually.that(
          "a thread of the runtime waits on",
          () ->
              description().health().stuckCalls().stream()
                  .map(StuckCall::thread)
                  .anyMatch(name -> name.startsWith("thalamus-call-")));

      memory.segment().fill((byte) 0);
      npu.letGo();
      Eventually.that("it returns", () -> description().health().stuckCalls().isEmpty());
      assertEquals(1, inner.executions());
      assertEquals(0f, memory.segment().get(Graphs.FLOAT, 16), "it wrote to memory of nobody");
      Eventually.that("the plan moves", () -> !compilation.isReplanning());
      assertEquals(List.of("cpu"), Graphs.ranOn(run(compilation, burst)));
    }
  }

  @Test
  void whatWaitsBehindARequestThatHangsIsAnsweredElsewhereToo() throws Exception {
    runtime.add(npu.hang(Call.EXECUTE));
    Compilation compilation = compile();
    try (Burst burst = compilation.createBurst(BurstOptions.DEFAULT.withDepth(2))) {
      // As many as the device has permits: others would not be sent yet.
      List<Future<ExecutionReport>> running = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        running.add(start(() -> run(compilation, burst)));
      }
      npu.awaitInside();
      // The probe of the quarantine runs in this thread.
      npu.recover();
      Eventually.that(
          "all are answered",
          () -> {
            time.advance(FIRST);
            return running.stream().allMatch(Future::isDone);
          });
      for (Future<ExecutionReport> each : running) {
        assertEquals("cpu", Graphs.ranOn(get(each)).getLast());
      }
      npu.letGo();
      Eventually.that("all return", () -> description().health().stuckCalls().isEmpty());
    }
  }

  @Test
  void aDepartureDoesNotWaitForARequestThatHangs() throws Exception {
    runtime.add(npu.hang(Call.EXECUTE));
    Compilation compilation = compile();
    try (Burst burst = compilation.createBurst()) {
      Future<ExecutionReport> running = start(() -> run(compilation, burst));
      npu.awaitInside();
      // The probe of the quarantine runs in this thread.
      npu.recover();
      Future<?> departure = start(() -> runtime.remove(npu), null);
      Eventually.that(
          "it is answered elsewhere",
          () -> {
            time.advance(Duration.ofSeconds(1));
            return running.isDone() && departure.isDone();
          });
      assertEquals("cpu", Graphs.ranOn(get(running)).getLast());
    }
  }

  private Future<?> start(Runnable task, Void nothing) {
    return threads.submit(task, nothing);
  }

  @Test
  void aDeadlineEndsTheWait() throws Exception {
    runtime.add(npu.hang(Call.EXECUTE));
    Compilation compilation = compile();
    try (Burst burst = compilation.createBurst()) {
      Future<ExecutionReport> running =
          start(
              () ->
                  Graphs.addThenMulExecution(compilation, new float[4])
                      .setTimeout(Duration.ofMillis(20))
                      .burstCompute(burst));
      npu.awaitInside();
      // The probe of the quarantine runs in this thread.
      npu.recover();
      Eventually.that(
          "its grace is over",
          () -> {
            time.advance(Duration.ofMillis(100));
            return running.isDone();
          });
      assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, get(running).code());
      assertEquals(State.AVAILABLE, description().state(), "slow is legal");
      npu.letGo();
      assertEquals(List.of("npu"), Graphs.ranOn(run(compilation, burst)), "opened anew");
    }
  }
}
