// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.call.Answer.Abandoned;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Refused;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The one way to call a driver, by a clock that the test moves. */
class SupervisorTest {
  private static final long PATIENCE_SECONDS = 60;
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private final SteppedTime time = new SteppedTime();
  private final ExecutorService callThreads = RuntimeThreads.forCalls();
  private final Device driver = LimitedDevice.all("npu", 0.5);
  private final Supervisor supervisor = new Supervisor(driver, callThreads, time);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final CountDownLatch inside = new CountDownLatch(1);
  private final CountDownLatch gate = new CountDownLatch(1);
  private final List<String> hung = new ArrayList<>();
  private final BlockingQueue<Answer<String>> late = new LinkedBlockingQueue<>();

  SupervisorTest() {
    supervisor.setOnHang(hung::add);
  }

  @AfterEach
  void closeAll() {
    gate.countDown();
    callThreads.shutdown();
    threads.shutdownNow();
    time.close();
  }

  private static Terms terms(Admission admission, Optional<Duration> limit) {
    return new Terms("ask", admission, limit);
  }

  private static Terms guarded() {
    return terms(Admission.UNTIL_DEPARTURE, Optional.of(LIMIT));
  }

  private <T> Future<T> start(Callable<T> task) {
    return threads.submit(task);
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  private String hang() {
    inside.countDown();
    try {
      assertTrue(gate.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    return "done";
  }

  private Future<Answer<String>> startHanging(Terms terms) throws Exception {
    Future<Answer<String>> running =
        start(() -> supervisor.call(terms, (asked, control) -> hang(), late::add));
    assertTrue(inside.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
    return running;
  }

  @Test
  void theDriverIsGivenToEachCallUntilItHasLeft() {
    for (Optional<Duration> limit : List.of(Optional.of(LIMIT), Optional.<Duration>empty())) {
      assertEquals(
          new Answered<>(driver),
          supervisor.call(
              terms(Admission.UNTIL_DEPARTURE, limit), (asked, control) -> asked, any -> {}));
    }
    supervisor.refuse();
    assertEquals(
        new Refused<>(ErrorStatus.DEVICE_UNAVAILABLE, "it has left"),
        supervisor.call(guarded(), (asked, control) -> asked, any -> {}));
    assertEquals(
        new Answered<>(driver),
        supervisor.call(
            terms(Admission.UNTIL_LEFT, Optional.of(LIMIT)), (asked, control) -> asked, any -> {}));
    // A call ends after its caller has the answer: the departure waits for that.
    assertEquals(0, supervisor.leave(time.nanoTime() + LIMIT.toNanos()));
    assertInstanceOf(
        Refused.class,
        supervisor.call(
            terms(Admission.UNTIL_LEFT, Optional.of(LIMIT)), (asked, control) -> asked, any -> {}));
    assertEquals(
        new Answered<>(null),
        supervisor.call(
            terms(Admission.ALWAYS, Optional.of(LIMIT)), (asked, control) -> asked, any -> {}));
    assertFalse(supervisor.isOf(driver), "it is forgotten");
  }

  @Test
  void anAnswerAfterTheLimitGoesToNobodyElse() throws Exception {
    Future<Answer<String>> running = startHanging(guarded());
    time.advance(LIMIT);
    Answer<String> answer = get(running);
    assertEquals(new Abandoned<>(Abandonment.HUNG, LIMIT), answer);
    assertTrue(answer.isHung());
    assertEquals(List.of("ask"), hung);
    assertEquals(1, supervisor.stuckCalls().size());
    gate.countDown();
    assertEquals(new Answered<>("done"), late.poll(PATIENCE_SECONDS, TimeUnit.SECONDS));
    Eventually.that("the thread is given back", () -> supervisor.size() == 0);
    assertEquals(List.of(), supervisor.stuckCalls());
  }

  @Test
  void theWaitingCallerAsksForTheStatusAndPassesNoCheckpoint() throws Exception {
    AtomicReference<Signal> status = new AtomicReference<>(Signal.CONTINUE);
    AtomicBoolean wasAsked = new AtomicBoolean();
    AtomicReference<ExecutionControl> handed = new AtomicReference<>();
    ExecutionControl control =
        new ExecutionControl() {
          @Override
          public Signal checkpoint() {
            wasAsked.set(true);
            return Signal.CONTINUE;
          }

          @Override
          public Signal status() {
            return status.get();
          }
        };
    Terms terms = new Terms("ask", Admission.UNTIL_DEPARTURE, Optional.of(LIMIT), control);
    Future<Answer<String>> running =
        start(
            () ->
                supervisor.call(
                    terms,
                    (asked, own) -> {
                      handed.set(own);
                      return hang();
                    },
                    late::add));
    assertTrue(inside.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
    assertFalse(wasAsked.get());
    assertEquals(Signal.CONTINUE, handed.get().checkpoint());
    assertTrue(wasAsked.get());
    status.set(Signal.DEADLINE);
    Eventually.that(
        "the grace is over",
        () -> {
          time.advance(Duration.ofMillis(100));
          return running.isDone();
        });
    assertEquals(new Abandoned<>(Abandonment.DEADLINE, LIMIT), get(running));
    assertEquals(Signal.CANCELLED, handed.get().checkpoint(), "nobody waits for it");
    assertEquals(List.of(), hung, "slow is legal");
    time.advance(LIMIT);
    assertEquals(List.of("ask"), hung, "not to return is not");
  }

  @Test
  void aDepartureWaitsForRunningCallsButNotForStuckOnes() throws Exception {
    Future<Answer<String>> running = startHanging(guarded());
    supervisor.refuse();
    long end = time.nanoTime() + Duration.ofHours(1).toNanos();
    Future<Integer> departure = start(() -> supervisor.leave(end));
    time.advance(LIMIT);
    assertEquals(new Abandoned<>(Abandonment.HUNG, LIMIT), get(running));
    assertEquals(1, get(departure), "long before its end");
    assertFalse(supervisor.isOf(driver));
  }

  @Test
  void whatADepartureDoesNotWaitForIsToldToStop() throws Exception {
    Future<Answer<String>> running = startHanging(guarded());
    assertEquals(1, supervisor.leave(time.nanoTime()));
    assertEquals(new Abandoned<>(Abandonment.LEFT, LIMIT), get(running));
    assertEquals(List.of(), hung);
  }

  @Test
  void whatGivesSomethingBackIsWaitedForWhenTheDeviceHasLeft() throws Exception {
    Future<Answer<String>> closing = startHanging(terms(Admission.ALWAYS, Optional.of(LIMIT)));
    assertEquals(1, supervisor.leave(time.nanoTime()));
    assertEquals(List.of(), supervisor.stuckCalls(), "somebody waits for it");
    gate.countDown();
    assertEquals(new Answered<>("done"), get(closing));
  }

  @Test
  void withoutAThreadNothingIsCalledButWhatCloses() {
    callThreads.shutdown();
    Answer<String> answer = supervisor.call(guarded(), (asked, control) -> "done", late::add);
    assertEquals(
        new Refused<>(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "too many calls wait for devices"),
        answer);
    AtomicBoolean isClosed = new AtomicBoolean();
    assertInstanceOf(
        Answered.class, supervisor.close(Optional.of(LIMIT), () -> isClosed.set(true), any -> {}));
    assertTrue(isClosed.get());
    assertEquals(0, supervisor.leave(time.nanoTime()), "nothing counts as running");
  }
}
