// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Priority;
import io.thalamus.npu.DeviceQueue.Place;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The order in which the device is given away, and departures without it; time passes only when a
 * test says so.
 */
@Timeout(120)
class DeviceQueueTest {
  private static final Failed CANCELLED = new Failed(ErrorStatus.GENERAL_FAILURE, "cancelled");

  private final AtomicLong host = new AtomicLong(Long.MAX_VALUE - 5);
  private final DeviceClock clock = new DeviceClock(host::get);
  private final DeviceQueue queue = new DeviceQueue(clock);
  private final List<String> order = Collections.synchronizedList(new ArrayList<>());
  private final List<FutureTask<Failed>> callers = new ArrayList<>();
  private final AtomicReference<Failed> stop = new AtomicReference<>();

  private Place hold(Priority priority) {
    Place place = queue.arrive(priority);
    assertNull(queue.enter(place, () -> null));
    return place;
  }

  /** A caller that waits, then has the device for a moment. */
  private Thread arrive(Priority priority, String name) throws InterruptedException {
    Place place = queue.arrive(priority);
    FutureTask<Failed> caller =
        new FutureTask<>(
            () -> {
              Failed failed = queue.enter(place, stop::get);
              if (failed == null) {
                order.add(name);
                queue.leave(place);
              }
              return failed;
            });
    callers.add(caller);
    int before = queue.waiting();
    Thread thread = Thread.ofPlatform().name("test-" + name).start(caller);
    while (queue.waiting() == before) {
      Thread.sleep(1);
    }
    return thread;
  }

  private void pass(long nanos) {
    clock.advanceTo(clock.working() + nanos);
  }

  private void leaveAndWait(Place place) throws Exception {
    queue.leave(place);
    for (FutureTask<Failed> caller : callers) {
      assertNull(caller.get());
    }
    assertEquals(0, queue.waiting());
  }

  @Test
  void theMoreUrgentGoFirstAndThoseOfOnePriorityInTheirOrder() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Place holder = hold(Priority.HIGH);
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      Priority priority = Priority.values()[random.nextInt(3)];
      String name = (char) ('c' - priority.halCode()) + " " + (char) ('A' + i);
      expected.add(name);
      arrive(priority, name);
      assertFalse(queue.isUrgent(), "nobody goes before the first of the highest");
      pass(random.nextInt(1000));
    }
    leaveAndWait(holder);
    expected.sort(Comparator.naturalOrder());
    assertEquals(expected, order, "seed " + seed);
  }

  @Test
  void whoHasTheDeviceIsToldOfTheMoreUrgent() throws Exception {
    Place holder = hold(Priority.LOW);
    arrive(Priority.LOW, "low");
    assertFalse(queue.isUrgent());
    Thread leaver = arrive(Priority.MEDIUM, "medium");
    assertTrue(queue.isUrgent());
    queue.leave(holder);
    leaver.join();
    // It has its place before the other that arrived after it.
    assertNull(queue.enter(holder, () -> null));
    assertFalse(queue.isUrgent());
    order.add("holder");
    leaveAndWait(holder);
    assertEquals("medium", order.getFirst());
    assertTrue(order.containsAll(List.of("holder", "low")));
  }

  @Test
  void whoeverHasWaitedLongEnoughGoesBeforeNewOnesOfAHigherRank() throws Exception {
    Place holder = hold(Priority.HIGH);
    arrive(Priority.LOW, "low");
    pass(DeviceQueue.RANK_NANOS - 1);
    arrive(Priority.MEDIUM, "medium before");
    pass(2);
    arrive(Priority.MEDIUM, "medium behind");
    pass(DeviceQueue.RANK_NANOS - 2);
    arrive(Priority.HIGH, "high before");
    pass(2);
    arrive(Priority.HIGH, "high behind");
    leaveAndWait(holder);
    assertEquals(
        List.of("medium before", "high before", "low", "medium behind", "high behind"), order);
  }

  /** A device that urgent work fills gives a low one its turn when it has aged, and lets it end. */
  @Test
  void nobodyStarves() throws Exception {
    Place holder = hold(Priority.HIGH);
    arrive(Priority.LOW, "low");
    long arrived = clock.working();
    long service = DeviceQueue.RANK_NANOS / 50;
    while (order.isEmpty()) {
      assertTrue(clock.working() - arrived < 3 * DeviceQueue.RANK_NANOS, "it waits for ever");
      Place next = queue.arrive(Priority.HIGH);
      FutureTask<Failed> urgent = new FutureTask<>(() -> queue.enter(next, () -> null));
      int before = queue.waiting();
      Thread.ofPlatform().name("test-urgent").start(urgent);
      while (queue.waiting() == before) {
        Thread.sleep(1);
      }
      pass(service);
      queue.leave(holder);
      assertNull(urgent.get());
      holder = next;
    }
    assertTrue(clock.working() - arrived >= 2 * DeviceQueue.RANK_NANOS, "it was never low");
    leaveAndWait(holder);
  }

  @Test
  void whoHasToStopLeavesTheQueueAndKeepsNobody() throws Exception {
    Place holder = hold(Priority.HIGH);
    arrive(Priority.MEDIUM, "stopped");
    assertEquals(1, queue.waiting());
    stop.set(CANCELLED);
    assertEquals(CANCELLED, callers.removeFirst().get());
    assertEquals(0, queue.waiting());
    stop.set(null);
    arrive(Priority.LOW, "low");
    leaveAndWait(holder);
    assertEquals(List.of("low"), order);
  }

  @Test
  void aCallerWhoseControlBreaksLeavesTheQueue() throws Exception {
    Place holder = hold(Priority.HIGH);
    Place broken = queue.arrive(Priority.HIGH);
    FutureTask<Failed> caller =
        new FutureTask<>(
            () ->
                queue.enter(
                    broken,
                    () -> {
                      throw new IllegalStateException("broken");
                    }));
    caller.run();
    assertTrue(caller.state() == FutureTask.State.FAILED);
    leaveAndWait(holder);
    leaveAndWait(hold(Priority.LOW));
  }

  @Test
  void closingWakesAllAndRefusesFurtherOnes() throws Exception {
    Place holder = hold(Priority.HIGH);
    arrive(Priority.MEDIUM, "one");
    arrive(Priority.LOW, "two");
    queue.close();
    for (FutureTask<Failed> caller : callers) {
      assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, caller.get().status());
    }
    assertEquals(0, queue.waiting());
    queue.leave(holder);
    assertEquals(
        ErrorStatus.DEVICE_UNAVAILABLE, queue.enter(holder, () -> null).status(), "it is closed");
    assertEquals(List.of(), order);
  }

  @Test
  void anInterruptIsKeptForWhoAsksForIt() throws Exception {
    Place holder = hold(Priority.HIGH);
    AtomicReference<Boolean> seen = new AtomicReference<>();
    Place place = queue.arrive(Priority.LOW);
    Thread caller =
        Thread.ofPlatform()
            .name("test-interrupted")
            .start(
                () -> {
                  assertNull(queue.enter(place, () -> null));
                  seen.set(Thread.currentThread().isInterrupted());
                  queue.leave(place);
                });
    while (queue.waiting() == 0) {
      Thread.sleep(1);
    }
    caller.interrupt();
    Thread.sleep(20);
    assertEquals(1, queue.waiting());
    queue.leave(holder);
    caller.join();
    assertEquals(true, seen.get());
  }

  @Test
  void anIdleDeviceGoesWithTheHostAndAWorkingOneDoesNot() {
    long start = clock.nanoTime();
    host.addAndGet(1000);
    assertEquals(1000, clock.nanoTime() - start);
    Place holder = hold(Priority.LOW);
    host.addAndGet(5000);
    assertEquals(1000, clock.nanoTime() - start);
    pass(70);
    assertEquals(1070, clock.nanoTime() - start);
    clock.advanceTo(start);
    queue.leave(holder);
    assertEquals(1070, clock.nanoTime() - start, "it never goes back");
    host.addAndGet(1);
    assertEquals(1071, clock.nanoTime() - start);
  }
}
