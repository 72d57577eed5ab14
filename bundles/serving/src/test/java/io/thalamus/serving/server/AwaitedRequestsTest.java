// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Timing;
import io.thalamus.serving.Failure;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.ServingException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests whose senders wait: which of them are computed in the threads of those. */
class AwaitedRequestsTest extends ServerTest {
  private final AtomicReference<Thread> direct = new AtomicReference<>();

  @BeforeEach
  void load() throws Exception {
    write("m.tflite", "times 3");
    look();
    fake.warmUp =
        run -> {
          direct.set(Thread.currentThread());
          return run.run();
        };
  }

  /** Has an execution report that it took so long. */
  private static ExecutionReport lasting(Duration time, ExecutionReport report) {
    return new ExecutionReport(
        report.code(),
        report.message(),
        report.outputs(),
        Timing.NONE,
        List.of(new StepReport("cpu", 1, time, report.code())));
  }

  /** Has an execution take so long: no report is believed that says more than has passed. */
  private void learn(Duration time) throws Exception {
    fake.hook =
        run -> {
          try {
            Thread.sleep(time);
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
          return CompletableFuture.completedFuture(lasting(time, run.run()));
        };
    get(server.infer(request("m", x(1, 2))));
    fake.executions.set(0);
  }

  private float[] answer() throws ServingException {
    return server
        .answer(request("m", x(1, 2)), pending -> {})
        .outputs()
        .getFirst()
        .value()
        .toArray(ValueLayout.JAVA_FLOAT);
  }

  @Test
  void whatIsKnownToBeQuickIsComputedByWhoeverWaits() throws Exception {
    assertArrayEquals(new float[] {3, 6}, answer());
    assertEquals(1, fake.executions.get(), "nobody knows how long it takes");
    learn(Duration.ofNanos(20_000));
    assertArrayEquals(new float[] {3, 6}, answer());
    assertSame(Thread.currentThread(), direct.get());
    assertEquals(0, fake.executions.get());
    assertEquals(
        3, server.statistics(Optional.empty(), Optional.empty()).getFirst().inferenceCount());
  }

  @Test
  void whatTakesLongIsComputedByTheRuntime() throws Exception {
    learn(Duration.ofMillis(50));
    assertArrayEquals(new float[] {3, 6}, answer());
    assertEquals(1, fake.executions.get());
  }

  @Test
  void withManyOthersTheRuntimeHasItsOrder() throws Exception {
    learn(Duration.ofNanos(20_000));
    List<CompletableFuture<ExecutionReport>> held = new ArrayList<>();
    fake.hook =
        run -> {
          CompletableFuture<ExecutionReport> later = new CompletableFuture<>();
          held.add(later);
          return later.thenApply(any -> run.run());
        };
    List<PendingInference> others = new ArrayList<>();
    for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
      others.add(server.infer(request("m", x(1, 2))));
    }
    fake.hook = run -> CompletableFuture.completedFuture(run.run());
    fake.executions.set(0);
    assertArrayEquals(new float[] {3, 6}, answer());
    assertEquals(1, fake.executions.get());
    held.forEach(each -> each.complete(null));
    for (PendingInference each : others) {
      get(each);
    }
  }

  @Test
  void itCanBeCancelledWhileItIsComputed() throws Exception {
    learn(Duration.ofNanos(20_000));
    AtomicReference<PendingInference> begun = new AtomicReference<>();
    fake.warmUp =
        run -> {
          boolean[] isStopped = new boolean[1];
          run.onStop = () -> isStopped[0] = true;
          begun.get().cancel();
          assertTrue(isStopped[0]);
          return ExecutionReport.failed(ResultCode.OP_FAILED, "it was stopped");
        };
    ServingException failure =
        assertThrows(
            ServingException.class, () -> server.answer(request("m", x(1, 2)), begun::set));
    assertEquals(Failure.CANCELLED, failure.failure());
  }

  @Test
  void aFaultOfTheRuntimeIsAnAnswer() throws Exception {
    learn(Duration.ofNanos(20_000));
    fake.warmUp =
        run -> {
          throw new AssertionError("a fault");
        };
    ServingException failure = assertThrows(ServingException.class, this::answer);
    assertEquals(Failure.INTERNAL, failure.failure());
    assertTrue(server.drain(Duration.ZERO), "nothing runs any more");
  }
}
