// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Priority;
import io.thalamus.model.Timing;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.schedule.Application;
import io.thalamus.runtime.schedule.Contender;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Executions that are stopped, and those with a priority and a client of their own. */
class StopTest {
  private static final long PATIENCE = 60;

  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final FaultyDevice faulty = new FaultyDevice(cpu);
  private final TestRuntime runtime = TestRuntime.of(faulty);
  private final float[] result = new float[4];

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, cpu.open(), "left open");
  }

  private Execution execution() throws Exception {
    return Graphs.addThenMulExecution(
        runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT), result);
  }

  private static ExecutionReport get(CompletableFuture<ExecutionReport> future) throws Exception {
    return future.get(PATIENCE, TimeUnit.SECONDS);
  }

  @Test
  void theReportComesWhenTheDeviceHasStopped() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch told = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    faulty.onExecute(
        (request, config) -> {
          begun.countDown();
          while (config.control().checkpoint() == Signal.CONTINUE) {
            Thread.onSpinWait();
          }
          told.countDown();
          await(mayEnd);
          return new Failed(ErrorStatus.GENERAL_FAILURE, "asked to stop");
        });
    Execution execution = execution();
    CompletableFuture<ExecutionReport> future = execution.computeAsync();
    await(begun);
    execution.stop();
    await(told);
    assertFalse(future.isDone(), "the device still writes the outputs");
    mayEnd.countDown();
    assertEquals(ResultCode.OP_FAILED, get(future).code());
    assertEquals(0, cpu.executions(), "nothing is repeated");
  }

  @Test
  void oneThatWaitsDoesNotBegin() throws Exception {
    CompletableFuture<ExecutionReport> gate = new CompletableFuture<>();
    Execution execution = execution();
    CompletableFuture<ExecutionReport> future =
        execution.startComputeWithDependencies(List.of(gate));
    execution.stop();
    ExecutionReport report = get(future);
    assertEquals(ResultCode.OP_FAILED, report.code());
    assertEquals("the execution was stopped before it began", report.message());
    gate.complete(new ExecutionReport(ResultCode.NO_ERROR, "", List.of(), Timing.NONE, List.of()));
    assertEquals(0, cpu.executions());
  }

  @Test
  void beforeTheStartAndAfterTheEndItDoesNothing() throws Exception {
    Execution execution = execution();
    execution.stop();
    CompletableFuture<ExecutionReport> future = execution.computeAsync();
    assertTrue(get(future).isSuccess());
    execution.stop();
    assertTrue(get(future).isSuccess());
    assertArrayEquals(Graphs.addThenMulResult(), result);
  }

  @Test
  void betweenTwoTriesItDoesNothing() throws Exception {
    faulty.onExecute(
        (request, config) -> new Failed(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "full"));
    Execution execution = execution();
    assertEquals(ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, get(execution.computeAsync()).code());
    execution.stop();
    faulty.onExecute((request, config) -> null);
    assertTrue(get(execution.computeAsync()).isSuccess());
    assertArrayEquals(Graphs.addThenMulResult(), result);
  }

  @Test
  void aReusableOneIsStartedAgainAfterAStop() throws Exception {
    Execution execution = execution().setReusable(true);
    assertTrue(get(execution.computeAsync()).isSuccess());
    CompletableFuture<ExecutionReport> gate = new CompletableFuture<>();
    CompletableFuture<ExecutionReport> waiting =
        execution.startComputeWithDependencies(List.of(gate));
    assertEquals(ResultCode.BAD_STATE, execution.compute().code());
    execution.stop();
    assertEquals(ResultCode.OP_FAILED, get(waiting).code());
    assertTrue(execution.compute().isSuccess());
    assertArrayEquals(Graphs.addThenMulResult(), result);
  }

  @Test
  void oneHasAPriorityAndAClientOfItsOwn() throws Exception {
    Execution execution = execution();
    assertTrue(execution.setPriority(Priority.HIGH).setClient("anna").compute().isSuccess());
    Contender contender = ((ExecutionImpl) execution).control();
    assertEquals(Priority.HIGH, contender.priority());
    assertEquals(new Application("test", "anna"), contender.application());
    Contender other = ((ExecutionImpl) execution()).control();
    assertEquals(Priority.MEDIUM, other.priority());
    assertEquals(new Application("test"), other.application());
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(PATIENCE, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
