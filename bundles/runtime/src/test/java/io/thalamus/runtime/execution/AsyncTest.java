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
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Asynchronous executions, cancellation, deadlines and dependencies. */
class AsyncTest {
  private static final long PATIENCE = 60;

  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final FaultyDevice faulty = new FaultyDevice(cpu);
  private final TestRuntime runtime = TestRuntime.of(faulty);

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, cpu.open(), "left open");
  }

  private Compilation compile() throws Exception {
    return runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT);
  }

  private static ExecutionReport get(CompletableFuture<ExecutionReport> future) throws Exception {
    return future.get(PATIENCE, TimeUnit.SECONDS);
  }

  @Test
  void manyRunAtOnce() throws Exception {
    Compilation compilation = compile();
    List<float[]> results = new ArrayList<>();
    List<CompletableFuture<ExecutionReport>> futures = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      float[] result = new float[4];
      results.add(result);
      futures.add(Graphs.addThenMulExecution(compilation, result).computeAsync());
    }
    for (int i = 0; i < futures.size(); i++) {
      assertTrue(get(futures.get(i)).isSuccess());
      assertArrayEquals(Graphs.addThenMulResult(), results.get(i));
    }
  }

  @Test
  void mistakesComeAsReports() throws Exception {
    ExecutionReport report = get(compile().createExecution().computeAsync());
    assertEquals(ResultCode.BAD_DATA, report.code());
    try (Arena confined = Arena.ofConfined()) {
      ExecutionReport wrongThread =
          get(
              Graphs.addThenMulExecution(compile(), new float[4])
                  .setInput(0, confined.allocate(16))
                  .computeAsync());
      assertEquals(ResultCode.BAD_DATA, wrongThread.code());
      assertTrue(wrongThread.message().contains("another thread"), wrongThread.message());
    }
  }

  @Test
  void cancellingStopsTheDevice() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch stopped = new CountDownLatch(1);
    faulty.onExecute(
        (request, config) -> {
          begun.countDown();
          while (config.control().checkpoint() == Signal.CONTINUE) {
            Thread.onSpinWait();
          }
          assertEquals(Signal.CANCELLED, config.control().checkpoint());
          stopped.countDown();
          return new Failed(ErrorStatus.GENERAL_FAILURE, "stopped");
        });
    CompletableFuture<ExecutionReport> future =
        Graphs.addThenMulExecution(compile(), new float[4]).computeAsync();
    assertTrue(begun.await(PATIENCE, TimeUnit.SECONDS));
    assertTrue(future.cancel(true));
    assertTrue(stopped.await(PATIENCE, TimeUnit.SECONDS));
    assertThrows(CancellationException.class, future::join);
  }

  @Test
  void aDeadlineStopsTheDevice() throws Exception {
    faulty.onExecute(
        (request, config) -> {
          assertTrue(config.deadline().isSet());
          while (config.control().checkpoint() == Signal.CONTINUE) {
            Thread.onSpinWait();
          }
          return new Failed(ErrorStatus.GENERAL_FAILURE, "asked to stop");
        });
    ExecutionReport report =
        Graphs.addThenMulExecution(compile(), new float[4])
            .setTimeout(Duration.ofMillis(20))
            .compute();
    assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, report.code());
    assertEquals("the execution missed its deadline", report.message());
  }

  @Test
  void aDeadlineThatHasPassedDoesNotReachTheDevice() throws Exception {
    Compilation compilation = compile();
    for (Duration timeout : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
      ExecutionReport report =
          Graphs.addThenMulExecution(compilation, new float[4]).setTimeout(timeout).compute();
      assertEquals(ResultCode.MISSED_DEADLINE_PERSISTENT, report.code());
    }
    assertEquals(0, cpu.executions());
    assertTrue(
        Graphs.addThenMulExecution(compilation, new float[4])
            .setTimeout(Duration.ofDays(365_000_000))
            .compute()
            .isSuccess());
  }

  @Test
  void dependenciesAreWaitedFor() throws Exception {
    Compilation compilation = compile();
    float[] first = new float[4];
    float[] second = new float[4];
    CompletableFuture<ExecutionReport> gate = new CompletableFuture<>();
    CompletableFuture<ExecutionReport> a =
        Graphs.addThenMulExecution(compilation, first).startComputeWithDependencies(List.of(gate));
    CompletableFuture<ExecutionReport> b =
        compilation
            .createExecution()
            .setInput(0, Graphs.floats(first))
            .setInput(1, Graphs.floats(0, 0, 0, 0))
            .setInput(2, Graphs.floats(1, 1, 1, 1))
            .setOutput(0, Graphs.floats(second))
            .startComputeWithDependencies(List.of(a));
    assertFalse(a.isDone() || b.isDone());
    gate.complete(
        new ExecutionReport(
            ResultCode.NO_ERROR, "", List.of(), io.thalamus.model.Timing.NONE, List.of()));
    assertTrue(get(b).isSuccess(), get(b).message());
    assertArrayEquals(Graphs.addThenMulResult(), second, "b reads what a wrote");
  }

  @Test
  void aFailedDependencyFails() throws Exception {
    Compilation compilation = compile();
    for (CompletableFuture<ExecutionReport> bad :
        List.of(
            CompletableFuture.completedFuture(ExecutionReport.failed(ResultCode.OP_FAILED, "no")),
            CompletableFuture.<ExecutionReport>failedFuture(new IllegalStateException()))) {
      ExecutionReport report =
          get(
              Graphs.addThenMulExecution(compilation, new float[4])
                  .startComputeWithDependencies(List.of(bad)));
      assertEquals(ResultCode.OP_FAILED, report.code());
    }
    assertEquals(0, cpu.executions());
  }

  @Test
  void behindDependenciesOutputsMustBeSpecified() throws Exception {
    Compilation open = runtime.networks().compile(Graphs.twice(0, 2), CompilationOptions.DEFAULT);
    Execution execution =
        open.createExecution()
            .setInput(0, Graphs.floats(1, 2), io.thalamus.model.Shape.of(1, 2))
            .setOutput(0, Graphs.floats(new float[2]));
    assertEquals(
        ResultCode.BAD_DATA, get(execution.startComputeWithDependencies(List.of())).code());
  }

  @Test
  void whatRunsWhenTheRuntimeStopsIsAnswered() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    AtomicReference<Signal> seen = new AtomicReference<>();
    faulty.onExecute(
        (request, config) -> {
          begun.countDown();
          while (config.control().checkpoint() == Signal.CONTINUE) {
            Thread.onSpinWait();
          }
          seen.set(config.control().checkpoint());
          return new Failed(ErrorStatus.GENERAL_FAILURE, "stopped");
        });
    CompletableFuture<ExecutionReport> running =
        Graphs.addThenMulExecution(compile(), new float[4]).computeAsync();
    assertTrue(begun.await(PATIENCE, TimeUnit.SECONDS));
    runtime.threads.close();
    assertEquals(ResultCode.BAD_STATE, get(running).code());
    assertEquals(Signal.CANCELLED, seen.get());
    assertEquals(
        ResultCode.BAD_STATE,
        get(Graphs.addThenMulExecution(compile(), new float[4]).computeAsync()).code());
  }
}
