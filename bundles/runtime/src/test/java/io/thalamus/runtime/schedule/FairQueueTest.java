// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Priority;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The promises to those that are refused, by times that the test gives. */
class FairQueueTest {
  private static final Application A = new Application("a");
  private static final Application B = new Application("b");
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

  /** Something that contends and never stops. */
  private static final class Caller extends Contender {
    private long tries;
    private long due;

    Caller(Application application) {
      super(application, Priority.MEDIUM);
    }

    Caller(Caller refused) {
      super(refused, true);
    }

    @Override
    protected long nanosLeft() {
      return Long.MAX_VALUE;
    }

    @Override
    public Signal status() {
      return Signal.CONTINUE;
    }
  }

  private static List<FairQueue.Entry<Caller>> filled(FairQueue<Caller> queue, int most) {
    List<FairQueue.Entry<Caller>> entries = new ArrayList<>();
    for (int i = 0; i < most; i++) {
      Caller caller = new Caller(A);
      entries.add(queue.add(caller, 0, caller));
      assertNotNull(entries.getLast());
    }
    return entries;
  }

  /** Returns the priorities of all that wait, in the order in which they are taken at a moment. */
  private static List<Priority> taken(FairQueue<Priority> queue, long now) {
    List<Priority> order = new ArrayList<>();
    for (var next = queue.peek(now); next != null; next = queue.peek(now)) {
      order.add(next.item());
      queue.take(next, now);
    }
    return order;
  }

  @Test
  void thoseThatHaveRisenTakeTurnsWithThoseOfTheirNewPriority() {
    FairQueue<Priority> queue = new FairQueue<>(8);
    for (int i = 0; i < 4; i++) {
      queue.add(A, Priority.MEDIUM, 0, Priority.MEDIUM);
    }
    long later = FairQueue.AGING_NANOS;
    queue.add(A, Priority.LOW, 0, Priority.LOW);
    queue.add(A, Priority.MEDIUM, later, Priority.MEDIUM);
    for (int i = 0; i < 3; i++) {
      queue.add(A, Priority.HIGH, later, Priority.HIGH);
    }
    Priority low = Priority.LOW;
    Priority medium = Priority.MEDIUM;
    Priority high = Priority.HIGH;
    assertEquals(
        List.of(high, medium, high, medium, high, medium, medium, medium, low),
        taken(queue, later),
        "a newcomer of medium priority goes before one of low that has risen to it");
  }

  @Test
  void newcomersDoNotTakeRoomThatIsPromised() {
    FairQueue<Caller> queue = new FairQueue<>(8);
    List<FairQueue.Entry<Caller>> entries = filled(queue, 8);
    Caller refused = new Caller(A);
    assertNull(queue.add(refused, 0, refused));
    long moment = queue.untilRoom(refused, 0, MILLI).toNanos();
    assertEquals(5 * MILLI, moment, "half of eight, and its own");
    entries.subList(0, 4).forEach(queue::remove);
    Caller newcomer = new Caller(A);
    assertNull(queue.add(newcomer, moment, newcomer), "half of it is for the promise");
    queue.remove(entries.get(4));
    assertNotNull(queue.add(newcomer, moment, newcomer), "nobody else wants this half");
    assertNull(queue.add(refused, moment - 1, refused), "too early");
    assertEquals(1, queue.untilRoom(refused, moment - 1, MILLI).toNanos(), "the same as before");
    assertNotNull(queue.add(refused, moment, refused));
    for (int i = queue.size(); i < 8; i++) {
      assertNotNull(queue.add(newcomer, moment, newcomer), "no promise is open any more");
    }
    Caller again = new Caller(refused);
    assertNull(queue.add(again, moment, again), "it has had what was promised");
  }

  @Test
  void roomIsNotKeptForEver() {
    FairQueue<Caller> queue = new FairQueue<>(8);
    List<FairQueue.Entry<Caller>> entries = filled(queue, 8);
    Caller refused = new Caller(A);
    assertNull(queue.add(refused, 0, refused));
    long moment = queue.untilRoom(refused, 0, MILLI).toNanos();
    queue.remove(entries.getFirst());
    long over = moment + Promises.GRACE_NANOS;
    Caller newcomer = new Caller(A);
    assertNull(queue.add(newcomer, over, newcomer));
    assertNotNull(queue.add(newcomer, over + 1, newcomer));
    assertNull(queue.add(refused, over + 1, refused), "it came too late");
  }

  @Test
  void promisesAndTheQueueAreBounded() {
    FairQueue<Caller> queue = new FairQueue<>(8);
    filled(queue, 8);
    List<Caller> refused = new ArrayList<>();
    long last = 0;
    for (int i = 0; i < 8 * FairQueue.MOST_PROMISED; i++) {
      Caller caller = new Caller(A);
      refused.add(caller);
      assertNull(queue.add(caller, 0, caller));
      long moment = queue.untilRoom(caller, 0, MILLI).toNanos();
      assertTrue(moment > last, "in the order of their refusals");
      last = moment;
    }
    long told = queue.untilRoom(new Caller(A), 0, MILLI).toNanos();
    assertEquals(told, queue.untilRoom(new Caller(A), 0, MILLI).toNanos(), "no room is kept");
    int most = 8 * FairQueue.PROMISED_CLASSES;
    for (Caller caller : refused) {
      if (queue.add(caller, last, caller) == null) {
        assertEquals(most, queue.size(), "none has been served");
        long later = queue.untilRoom(caller, last, MILLI).toNanos();
        assertTrue(later > (most - 8) * MILLI, "once these are");
      }
    }
    assertEquals(most, queue.size());
    Caller other = new Caller(B);
    assertNotNull(queue.add(other, last, other), "another class has room of its own");
  }

  /** The result of callers that come three times as fast as they are served. */
  private record Overload(int refused, int refusedAgain, long mostTries, long idleMillis) {
    double shareOfReturnsServed() {
      return 1 - refusedAgain / (double) refused;
    }
  }

  /**
   * Each caller that is refused comes back when it was asked to, while others come for the first
   * time.
   *
   * @param error by which the expected interval is wrong
   * @param keepsPromises whether callers come back for what they were promised
   */
  private static Overload overload(int callers, double error, boolean keepsPromises) {
    int most = 256;
    FairQueue<Caller> queue = new FairQueue<>(most);
    PriorityQueue<Caller> coming =
        new PriorityQueue<>(Comparator.comparingLong((Caller caller) -> caller.due));
    for (int i = 0; i < callers; i++) {
      Caller caller = new Caller(i % 2 == 0 ? A : B);
      caller.due = i * MILLI / 3;
      coming.add(caller);
    }
    int served = 0;
    int refused = 0;
    int refusedAgain = 0;
    long mostTries = 0;
    long idle = 0;
    for (long now = 0; served < callers; now += MILLI) {
      while (!coming.isEmpty() && coming.peek().due <= now) {
        Caller caller = coming.poll();
        caller.tries++;
        mostTries = Math.max(mostTries, caller.tries);
        if (queue.add(caller, caller.due, caller) == null) {
          refused++;
          refusedAgain += caller.tries > 1 ? 1 : 0;
          caller.due += queue.untilRoom(caller, caller.due, error * MILLI).toNanos();
          caller.promise = keepsPromises ? caller.promise : null;
          coming.add(caller);
        }
      }
      assertTrue(queue.size() <= 2 * FairQueue.PROMISED_CLASSES * most, "it is bounded");
      FairQueue.Entry<Caller> next = queue.peek(now);
      if (next == null) {
        idle++;
      } else {
        queue.remove(next);
        queue.charge(next.item().application(), MILLI);
        served++;
      }
    }
    return new Overload(refused, refusedAgain, mostTries, idle);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0.5, 0.9, 1, 2})
  void whoComesBackWhenToldIsNotRefusedAgain(double error) {
    int callers = 1_800;
    Overload overload = overload(callers, error, true);
    assertTrue(overload.refused > callers / 3, overload::toString);
    assertEquals(2, overload.mostTries, "each was promised room");
    assertTrue(error > 1 || overload.idleMillis < callers / 20, overload::toString);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0.9, 1, 2})
  void promisesOfALongOverloadAreKept(double error) {
    Overload overload = overload(30_000, error, true);
    assertTrue(overload.shareOfReturnsServed() >= 0.95, overload::toString);
  }

  @Test
  void whoComesWithoutItsPromiseIsServedInTheEnd() {
    int callers = 1_800;
    Overload overload = overload(callers, 1, false);
    assertTrue(overload.mostTries > 2, "or a promise is worth nothing: " + overload);
    assertTrue(overload.idleMillis < callers, overload::toString);
  }
}
