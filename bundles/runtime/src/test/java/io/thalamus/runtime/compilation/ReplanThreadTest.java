// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Priority;
import io.thalamus.runtime.schedule.Application;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The order in which compilations are planned again. */
class ReplanThreadTest {
  private static final Application MANY = new Application("many");
  private static final Application FEW = new Application("few");
  private static final long PATIENCE_SECONDS = 60;
  private static final long NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final AtomicLong clock = new AtomicLong();
  private final ReplanThread thread = new ReplanThread(clock::get);
  private final List<String> order = Collections.synchronizedList(new ArrayList<>());
  private final CountDownLatch gate = new CountDownLatch(1);

  @AfterEach
  void close() {
    gate.countDown();
    thread.close();
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS), "it does not come");
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Keeps the thread busy for an application, which pays for it. */
  private void block(Application application) {
    CountDownLatch begun = new CountDownLatch(1);
    thread.submit(
        "first",
        application,
        Priority.MEDIUM,
        () -> {
          begun.countDown();
          await(gate);
          clock.addAndGet(NANOS);
        });
    await(begun);
  }

  private void submit(String name, Application application, Priority priority) {
    thread.submit(
        name,
        application,
        priority,
        () -> {
          order.add(name);
          clock.addAndGet(NANOS);
        });
  }

  /** Lets the thread go on, and returns the order of what waits before the last. */
  private List<String> served(Application last) {
    CountDownLatch end = new CountDownLatch(1);
    thread.submit("last", last, Priority.LOW, end::countDown);
    gate.countDown();
    await(end);
    return order;
  }

  @Test
  void higherPrioritiesGoFirstAndEqualOnesInTheirOrder() {
    block(MANY);
    submit("low", MANY, Priority.LOW);
    submit("medium", MANY, Priority.MEDIUM);
    submit("high", MANY, Priority.HIGH);
    submit("another", MANY, Priority.MEDIUM);
    assertEquals(List.of("high", "medium", "another", "low"), served(MANY));
  }

  @Test
  void theFewOfOneApplicationDoNotWaitForTheManyOfAnother() {
    block(MANY);
    for (int i = 0; i < 4; i++) {
      submit("many-" + i, MANY, Priority.HIGH);
    }
    submit("few-0", FEW, Priority.LOW);
    submit("few-1", FEW, Priority.LOW);
    assertEquals(List.of("few-0", "many-0", "few-1", "many-1", "many-2", "many-3"), served(MANY));
  }

  @Test
  void aSubjectThatWaitsIsNotPlannedTwice() {
    block(MANY);
    submit("same", MANY, Priority.LOW);
    submit("same", MANY, Priority.LOW);
    assertTrue(thread.isBusyWith("first"), "it runs");
    assertTrue(thread.isBusyWith("same"), "it waits");
    assertEquals(List.of("same"), served(MANY));
    assertFalse(thread.isBusyWith("same"), "it is done");
  }
}
