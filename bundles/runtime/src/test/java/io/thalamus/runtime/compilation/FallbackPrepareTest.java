// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The time of a prepare that an execution waits for, and the wait of other executions. */
class FallbackPrepareTest {
  private static final long PATIENCE = 20;

  /** An act of the device before it prepares. */
  @FunctionalInterface
  private interface Step {
    void run(PrepareConfig config) throws DeviceException;
  }

  private final List<PrepareConfig> configs = new CopyOnWriteArrayList<>();
  private volatile Step onPrepare = config -> {};
  private final LimitedDevice cpu =
      new LimitedDevice(
          LimitedDevice.info("thalamus-cpu", DeviceType.CPU, 1).build(), (graph, op) -> true) {
        @Override
        public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
          configs.add(config);
          onPrepare.run(config);
          return super.prepare(model, config);
        }
      };
  private final FaultyDevice faultyCpu = new FaultyDevice(cpu);
  private final FaultyDevice adder =
      new FaultyDevice(LimitedDevice.of("adder", 0.5, OperationCode.ADD));
  private final FaultyDevice multiplier =
      new FaultyDevice(LimitedDevice.of("multiplier", 0.5, OperationCode.MUL));
  private final TestRuntime runtime = TestRuntime.of(adder, multiplier, faultyCpu);

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, cpu.open(), "left open");
  }

  private Compilation compile(double sampling) throws Exception {
    return runtime
        .networks()
        .compile(
            Graphs.addThenMul(),
            CompilationOptions.DEFAULT
                .with(Priority.HIGH)
                .with(ExecutionPreference.LOW_POWER)
                .withSampling(sampling));
  }

  private void failMultiplications() {
    multiplier.onExecute((request, config) -> new Failed(ErrorStatus.GENERAL_FAILURE, "broken"));
  }

  private void assertConfigured(int count) {
    assertEquals(count, configs.size());
    for (PrepareConfig config : configs) {
      assertEquals(Priority.HIGH, config.priority());
      assertEquals(ExecutionPreference.LOW_POWER, config.preference());
      assertTrue(config.deadline().isSet(), "the deadline of the execution is dropped");
    }
  }

  @Test
  void aStepPreparedElsewhereHasTheTermsOfItsExecution() throws Exception {
    failMultiplications();
    ExecutionReport report =
        Graphs.addThenMulExecution(compile(0), new float[4])
            .setTimeout(Duration.ofMinutes(1))
            .compute();
    assertTrue(report.isSuccess(), report.message());
    assertConfigured(1);
  }

  @Test
  void theWholeModelOnTheReferenceHasTheTermsOfItsExecution() throws Exception {
    failMultiplications();
    int[] calls = new int[1];
    faultyCpu.onExecute(
        (request, config) ->
            calls[0]++ == 0 ? new Failed(ErrorStatus.GENERAL_FAILURE, "once") : null);
    ExecutionReport report =
        Graphs.addThenMulExecution(compile(0), new float[4])
            .setTimeout(Duration.ofMinutes(1))
            .compute();
    assertTrue(report.isSuccess(), report.message());
    assertConfigured(2);
  }

  @Test
  void aSecondOpinionHasTheTermsOfItsExecution() throws Exception {
    ExecutionReport report =
        Graphs.addThenMulExecution(compile(1), new float[4])
            .setTimeout(Duration.ofMinutes(1))
            .compute();
    assertTrue(report.isSuccess(), report.message());
    assertConfigured(2);
  }

  @Test
  void aPrepareElsewhereEndsWhenItsExecutionIsCancelled() throws Exception {
    failMultiplications();
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch stopped = new CountDownLatch(1);
    onPrepare =
        config -> {
          inside.countDown();
          long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE);
          while (config.control().checkpoint() == Signal.CONTINUE && System.nanoTime() < end) {
            Thread.onSpinWait();
          }
          if (config.control().checkpoint() == Signal.CANCELLED) {
            stopped.countDown();
          }
          throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "asked to stop");
        };
    CompletableFuture<ExecutionReport> future =
        Graphs.addThenMulExecution(compile(0), new float[4]).computeAsync();
    assertTrue(inside.await(PATIENCE, TimeUnit.SECONDS));
    future.cancel(true);
    assertTrue(stopped.await(2 * PATIENCE, TimeUnit.SECONDS), "the compiler was never told");
  }

  @Test
  void aCancelledPrepareIsNotHeldAgainstItsDevice() throws Exception {
    failMultiplications();
    CountDownLatch[] inside = new CountDownLatch[1];
    LimitedDevice spare =
        new LimitedDevice(
            LimitedDevice.info("test-spare", DeviceType.ACCELERATOR, 0.9).build(),
            (graph, op) -> op.type() == OperationCode.MUL) {
          @Override
          public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
            inside[0].countDown();
            while (config.control().checkpoint() == Signal.CONTINUE) {
              Thread.onSpinWait();
            }
            throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "cancelled");
          }
        };
    runtime.add(spare);
    CompilationOptions options =
        CompilationOptions.DEFAULT.withDevices(List.of("adder", "multiplier", "spare"));
    try (Compilation compilation = runtime.networks().compile(Graphs.addThenMul(), options)) {
      for (int i = 0; i < 10; i++) {
        inside[0] = new CountDownLatch(1);
        CompletableFuture<ExecutionReport> future =
            Graphs.addThenMulExecution(compilation, new float[4]).computeAsync();
        assertTrue(inside[0].await(PATIENCE, TimeUnit.SECONDS));
        future.cancel(true);
        assertThrows(CancellationException.class, future::join);
      }
    }
    assertEquals(List.of(), runtime.registry.quarantined());
  }

  @Test
  void aPrepareElsewhereThatMissesTheDeadlineIsAMissedDeadline() throws Exception {
    failMultiplications();
    onPrepare =
        config -> {
          while (config.deadline().isSet() && !config.deadline().hasPassed()) {
            Thread.onSpinWait();
          }
          throw new DeviceException(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "late");
        };
    ExecutionReport report =
        Graphs.addThenMulExecution(compile(0), new float[4])
            .setTimeout(Duration.ofMillis(200))
            .compute();
    assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, report.code(), report.message());
    assertEquals(1, configs.size(), "nothing else is prepared after the deadline");
  }

  @Test
  void waitingForAnothersPrepareEndsAtOnesOwnDeadline() throws Exception {
    failMultiplications();
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch gate = new CountDownLatch(1);
    onPrepare =
        config -> {
          inside.countDown();
          try {
            assertTrue(gate.await(3 * PATIENCE, TimeUnit.SECONDS));
          } catch (InterruptedException e) {
            throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "interrupted", e);
          }
        };
    Compilation compilation = compile(0);
    CompletableFuture<ExecutionReport> first =
        Graphs.addThenMulExecution(compilation, new float[4]).computeAsync();
    try {
      assertTrue(inside.await(PATIENCE, TimeUnit.SECONDS));
      ExecutionReport second =
          Graphs.addThenMulExecution(compilation, new float[4])
              .setTimeout(Duration.ofMillis(100))
              .computeAsync()
              .get(PATIENCE, TimeUnit.SECONDS);
      assertEquals(ResultCode.MISSED_DEADLINE_TRANSIENT, second.code(), second.message());
    } finally {
      gate.countDown();
    }
    ExecutionReport report = first.get(PATIENCE, TimeUnit.SECONDS);
    assertTrue(report.isSuccess(), report.message());
    assertEquals(1, configs.size());
  }
}
