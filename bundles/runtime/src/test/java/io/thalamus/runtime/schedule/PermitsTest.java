// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.model.Priority;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.schedule.Permits.Turn;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The order in which permits are given, by a clock that the test moves. */
class PermitsTest {
  private static final Application A = new Application("a");
  private static final Application B = new Application("b");
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
  private static final int MANY = 1_000;

  /** Others do not advance the clock during a turn. */
  private static final Runnable NO_YIELD = () -> {};

  private final AtomicLong clock = new AtomicLong();
  private final AtomicInteger workers = new AtomicInteger();
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();

  @AfterEach
  void joinAll() throws Exception {
    for (Thread thread : threads) {
      thread.join(TimeUnit.SECONDS.toMillis(60));
      assertFalse(thread.isAlive(), "it hangs");
    }
    assertEquals(null, failure.get());
  }

  /** An execution that a test stops. */
  private static final class Run extends Contender {
    private volatile Signal signal = Signal.CONTINUE;

    Run(Application application, Priority priority) {
      super(application, priority);
    }

    void stop(Signal why) {
      signal = why;
      if (why == Signal.CANCELLED) {
        wake();
      }
    }

    @Override
    protected long nanosLeft() {
      return MILLI;
    }

    @Override
    public Signal status() {
      return signal;
    }
  }

  private Permits permits(int count) {
    return permits(count, false);
  }

  private Permits permits(int count, boolean isLending) {
    return new Permits(
        "device", count, MANY, clock::get, isLending, new ProcessorTurns(clock::get, NO_YIELD));
  }

  private Thread start(Runnable task) {
    Thread thread =
        Thread.ofPlatform()
            .name("thalamus-test-" + threads.size())
            .uncaughtExceptionHandler((own, thrown) -> failure.set(thrown))
            .start(task);
    threads.add(thread);
    return thread;
  }

  /** Has an execution wait in a thread of its own, which notes its name when it has its turn. */
  private void queue(Permits permits, Run run, String name, List<String> turns) throws Exception {
    int before = permits.waiting();
    start(
        () -> {
          assertEquals(Turn.GRANTED, permits.acquire(run, false));
          turns.add(name);
          permits.release(run);
        });
    Eventually.that(name + " waits", () -> permits.waiting() == before + 1);
    synchronized (permits) {
      // It has the lock from the moment at which it is seen to wait until it has asked others.
    }
  }

  @Test
  void higherPrioritiesGoFirstAndEqualOnesInTheirOrder() throws Exception {
    Permits permits = permits(1);
    List<String> turns = Collections.synchronizedList(new ArrayList<>());
    Run holder = new Run(A, Priority.HIGH);
    assertEquals(Turn.GRANTED, permits.acquire(holder, true));
    queue(permits, new Run(A, Priority.LOW), "low 1", turns);
    queue(permits, new Run(A, Priority.MEDIUM), "medium 1", turns);
    queue(permits, new Run(A, Priority.HIGH), "high 1", turns);
    queue(permits, new Run(A, Priority.LOW), "low 2", turns);
    queue(permits, new Run(A, Priority.HIGH), "high 2", turns);
    assertFalse(holder.isPauseWanted(), "none goes before it");
    permits.release(holder);
    joinAll();
    assertEquals(List.of("high 1", "high 2", "medium 1", "low 1", "low 2"), turns);
    assertEquals(0, permits.held());
    assertEquals(0, permits.waiting());
  }

  @Test
  void theApplicationThatUsedLessGoesFirst() throws Exception {
    Permits permits = permits(1);
    List<String> turns = Collections.synchronizedList(new ArrayList<>());
    Run holder = new Run(A, Priority.LOW);
    assertEquals(Turn.GRANTED, permits.acquire(holder, false));
    queue(permits, new Run(A, Priority.HIGH), "a high", turns);
    clock.addAndGet(10 * MILLI);
    queue(permits, new Run(B, Priority.LOW), "b low", turns);
    queue(permits, new Run(new Application("b", "c"), Priority.HIGH), "b's client", turns);
    permits.release(holder);
    joinAll();
    assertEquals("a high", turns.get(2), "A has used the device, B has not");
  }

  @Test
  void aRunningOneStandsBackAtItsCheckpointAndNowhereElse() throws Exception {
    Permits permits = permits(1);
    Run low = new Run(A, Priority.LOW);
    Run high = new Run(A, Priority.HIGH);
    List<String> events = Collections.synchronizedList(new ArrayList<>());
    assertEquals(Turn.GRANTED, permits.acquire(low, true));
    assertFalse(low.isPauseWanted());
    assertEquals(Signal.CONTINUE, low.checkpoint());
    start(
        () -> {
          assertEquals(Turn.GRANTED, permits.acquire(high, true));
          events.add("high");
          assertEquals(Signal.CONTINUE, high.checkpoint(), "the paused one is not more urgent");
          clock.addAndGet(70 * MILLI);
          permits.release(high);
        });
    Eventually.that("the permit is asked back", low::isPauseWanted);
    assertEquals(Signal.CONTINUE, low.status());
    assertEquals(List.of(), events, "the status pauses nobody");
    assertEquals(Signal.CONTINUE, low.checkpoint());
    assertEquals(List.of("high"), events);
    assertEquals(1, permits.preemptions());
    assertEquals(70 * MILLI, low.pausedNanos(clock.get()));
    assertEquals(70 * MILLI, low.waitedNanos());
    assertFalse(low.isPauseWanted());
    permits.release(low);
    assertEquals(0, permits.held());
  }

  @Test
  void onlyTheLastInOrderAreAsked() throws Exception {
    Permits permits = permits(3);
    Run low = new Run(A, Priority.LOW);
    Run medium = new Run(A, Priority.MEDIUM);
    Run high = new Run(A, Priority.HIGH);
    for (Run run : List.of(medium, low, high)) {
      assertEquals(Turn.GRANTED, permits.acquire(run, true));
    }
    List<String> turns = Collections.synchronizedList(new ArrayList<>());
    queue(permits, new Run(A, Priority.HIGH), "high", turns);
    assertTrue(low.isPauseWanted());
    assertFalse(medium.isPauseWanted());
    assertFalse(high.isPauseWanted());
    assertEquals(Signal.CONTINUE, low.checkpoint());
    assertEquals(List.of("high"), turns);
    List.of(low, medium, high).forEach(permits::release);
    assertEquals(0, permits.held());
  }

  @Test
  void ofSeveralThatAreLastTheFirstAtACheckpointStandsBack() throws Exception {
    Permits permits = permits(3);
    List<Run> lows =
        List.of(new Run(A, Priority.LOW), new Run(A, Priority.LOW), new Run(A, Priority.LOW));
    lows.forEach(low -> assertEquals(Turn.GRANTED, permits.acquire(low, true)));
    List<String> turns = Collections.synchronizedList(new ArrayList<>());
    queue(permits, new Run(A, Priority.HIGH), "high", turns);
    lows.forEach(low -> assertTrue(low.isPauseWanted()));
    lows.forEach(low -> assertEquals(Signal.CONTINUE, low.checkpoint()));
    assertEquals(List.of("high"), turns);
    assertEquals(1, permits.preemptions(), "who was not needed any more went on");
    lows.forEach(low -> assertFalse(low.isPauseWanted()));
    lows.forEach(permits::release);
    assertEquals(0, permits.held());
  }

  @Test
  void whoBorrowsAPlaceBeginsAtOnceAndOneHolderMakesUpForIt() throws Exception {
    Permits permits = permits(2, true);
    List<Run> lows = List.of(new Run(A, Priority.LOW), new Run(A, Priority.LOW));
    lows.forEach(low -> assertEquals(Turn.GRANTED, permits.acquire(low, true)));
    Run high = new Run(A, Priority.HIGH);
    assertEquals(Turn.GRANTED, permits.acquire(high, true), "nobody has stood back yet");
    assertEquals(3, permits.held());
    assertFalse(permits.tryAcquire(new Run(A, Priority.HIGH), true));
    Thread paused = start(() -> assertEquals(Signal.CONTINUE, lows.getFirst().checkpoint()));
    Eventually.that("one stands back", () -> permits.waiting() == 1);
    assertEquals(2, permits.held());
    assertEquals(Signal.CONTINUE, lows.getLast().checkpoint(), "one is enough");
    assertEquals(Signal.CONTINUE, high.checkpoint());
    assertTrue(paused.isAlive(), "it waits for the one that has borrowed");
    permits.release(high);
    joinAll();
    assertEquals(2, permits.held());
    assertEquals(1, permits.preemptions());
    lows.forEach(permits::release);
    assertEquals(0, permits.held());
  }

  @Test
  void aPermitThatIsGivenBackMakesUpForABorrowedPlaceToo() throws Exception {
    Permits permits = permits(1, true);
    Run low = new Run(A, Priority.LOW);
    assertEquals(Turn.GRANTED, permits.acquire(low, true));
    Run high = new Run(A, Priority.HIGH);
    assertEquals(Turn.GRANTED, permits.acquire(high, true));
    permits.release(low);
    List<String> turns = Collections.synchronizedList(new ArrayList<>());
    queue(permits, new Run(A, Priority.LOW), "low", turns);
    queue(permits, new Run(A, Priority.HIGH), "high", turns);
    assertEquals(1, permits.held());
    assertEquals(List.of(), turns, "the only permit is the one that was lent beforehand");
    permits.release(high);
    joinAll();
    assertEquals(List.of("high", "low"), turns);
    assertEquals(0, permits.held());
  }

  @Test
  void oneAtATimeBorrowsAndNobodyBeforeThoseThatAreAsUrgent() throws Exception {
    Permits permits = permits(2, true);
    Run low = new Run(A, Priority.LOW);
    Run medium = new Run(A, Priority.MEDIUM);
    List.of(low, medium).forEach(run -> assertEquals(Turn.GRANTED, permits.acquire(run, true)));
    List<String> turns = Collections.synchronizedList(new ArrayList<>());
    queue(permits, new Run(A, Priority.LOW), "low", turns);
    Run high = new Run(A, Priority.HIGH);
    assertEquals(Turn.GRANTED, permits.acquire(high, true));
    queue(permits, new Run(A, Priority.HIGH), "high", turns);
    assertEquals(3, permits.held());
    Thread paused = start(() -> assertEquals(Signal.CONTINUE, low.checkpoint()));
    Eventually.that("the last in order stands back", () -> !low.isPauseWanted());
    assertEquals(List.of(), turns, "it has stood back for the one that borrowed");
    assertTrue(paused.isAlive());
    permits.release(medium);
    Eventually.that("the other one has its turn", () -> turns.contains("high"));
    permits.release(high);
    joinAll();
    assertEquals("low", turns.getLast());
    permits.release(low);
    assertEquals(0, permits.held());
  }

  /** The ends of a wait. */
  enum End {
    CANCELLED,
    DEADLINE,
    DEPARTURE
  }

  @ParameterizedTest
  @EnumSource(End.class)
  void whatIsPausedAndWhatWaitsIsWoken(End end) throws Exception {
    Permits permits = permits(1);
    Run holder = new Run(A, Priority.HIGH);
    Run paused = new Run(A, Priority.LOW);
    Run waiting = new Run(A, Priority.LOW);
    List<Object> ends = Collections.synchronizedList(new ArrayList<>());
    assertEquals(Turn.GRANTED, permits.acquire(paused, true));
    start(() -> assertEquals(Turn.GRANTED, permits.acquire(holder, true)));
    Eventually.that("the permit is asked back", paused::isPauseWanted);
    start(() -> ends.add(paused.checkpoint()));
    Eventually.that("it is paused", () -> permits.waiting() == 1 && permits.preemptions() == 1);
    start(() -> ends.add(permits.acquire(waiting, true)));
    Eventually.that("another waits", () -> permits.waiting() == 2);
    switch (end) {
      case DEPARTURE -> permits.leave();
      case CANCELLED, DEADLINE ->
          List.of(paused, waiting).forEach(run -> run.stop(Signal.valueOf(end.name())));
    }
    joinAll();
    Signal signal = end == End.DEADLINE ? Signal.DEADLINE : Signal.CANCELLED;
    Turn turn = end == End.DEPARTURE ? Turn.LEFT : Turn.STOPPED;
    assertEquals(Set.of(signal, turn), Set.copyOf(ends));
    assertEquals(end == End.DEPARTURE, permits.isLostFor(paused));
    permits.release(paused);
    permits.release(holder);
    assertEquals(0, permits.held());
    assertEquals(0, permits.waiting());
  }

  @Test
  void whoHoldsWhatAnUrgentOneNeedsTakesItsRank() throws Exception {
    Permits permits = permits(1);
    List<String> turns = Collections.synchronizedList(new ArrayList<>());
    Run holder = new Run(A, Priority.HIGH);
    Run low = new Run(A, Priority.LOW);
    assertEquals(Turn.GRANTED, permits.acquire(holder, true));
    queue(permits, low, "low", turns);
    queue(permits, new Run(A, Priority.MEDIUM), "medium", turns);
    Run urgent = new Run(A, Priority.HIGH);
    low.inherit(urgent);
    permits.release(holder);
    joinAll();
    assertEquals(List.of("low", "medium"), turns);
    // And one that runs is not asked for its permit.
    low.disinherit();
    assertEquals(Turn.GRANTED, permits.acquire(low, true));
    queue(permits, new Run(A, Priority.MEDIUM), "medium", turns);
    assertTrue(low.isPauseWanted());
    low.inherit(urgent);
    assertEquals(Signal.CONTINUE, low.checkpoint());
    assertEquals(2, turns.size(), "it did not stand back");
    permits.release(low);
  }

  @Test
  void aFullQueueRefusesAtOnce() throws Exception {
    Permits permits = new Permits("device", 1, 2, clock::get, false);
    Run holder = new Run(A, Priority.HIGH);
    assertEquals(Turn.GRANTED, permits.acquire(holder, true));
    List<String> turns = Collections.synchronizedList(new ArrayList<>());
    queue(permits, new Run(A, Priority.LOW), "1", turns);
    queue(permits, new Run(A, Priority.LOW), "2", turns);
    Run third = new Run(A, Priority.LOW);
    assertEquals(Turn.FULL, permits.acquire(third, true));
    queue(permits, new Run(A, Priority.MEDIUM), "another priority", turns);
    queue(permits, new Run(B, Priority.LOW), "another application", turns);
    permits.release(holder);
    joinAll();
    assertEquals(Turn.GRANTED, permits.acquire(third, true));
    permits.release(third);
  }

  /**
   * Executes again and again until the simulated time has come. That time only passes while all
   * others wait: what the machine needs to run their threads takes none of it.
   */
  private void work(
      Permits permits, Run run, int millis, long end, AtomicLong used, AtomicInteger times) {
    workers.incrementAndGet();
    start(
        () -> {
          while (clock.get() < end) {
            assertEquals(Turn.GRANTED, permits.acquire(run, true));
            for (int i = 0; i < millis; i++) {
              while (permits.waiting() < workers.get() - 1) {
                Thread.yield();
              }
              clock.addAndGet(MILLI);
              used.addAndGet(MILLI);
              assertEquals(Signal.CONTINUE, run.checkpoint());
            }
            permits.release(run);
            times.incrementAndGet();
          }
          workers.decrementAndGet();
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void aFloodOfOneApplicationLeavesHalfToAnother(int threadsOfB) throws Exception {
    Permits permits = permits(1);
    AtomicLong usedByA = new AtomicLong();
    AtomicLong usedByB = new AtomicLong();
    AtomicInteger times = new AtomicInteger();
    // Whoever begins, the threads of the other have begun when it is counted.
    Run first = new Run(A, Priority.HIGH);
    assertEquals(Turn.GRANTED, permits.acquire(first, false));
    long end = 4_000 * MILLI;
    for (int i = 0; i < 6; i++) {
      work(permits, new Run(A, Priority.HIGH), 10, end, usedByA, times);
    }
    for (int i = 0; i < threadsOfB; i++) {
      work(permits, new Run(B, Priority.LOW), 4, end, usedByB, times);
    }
    Eventually.that("all wait", () -> permits.waiting() == 6 + threadsOfB);
    permits.release(first);
    joinAll();
    double share = (double) usedByB.get() / (usedByA.get() + usedByB.get());
    assertTrue(share > 0.45 && share < 0.55, "B has got " + share);
  }

  @Test
  void whatWaitsForLongIsNotStarved() throws Exception {
    Permits permits = permits(1);
    Run first = new Run(A, Priority.HIGH);
    assertEquals(Turn.GRANTED, permits.acquire(first, false));
    long end = 10_000 * MILLI;
    AtomicInteger high = new AtomicInteger();
    AtomicInteger low = new AtomicInteger();
    for (int i = 0; i < 4; i++) {
      work(permits, new Run(A, Priority.HIGH), 5, end, new AtomicLong(), high);
    }
    work(permits, new Run(A, Priority.LOW), 5, end, new AtomicLong(), low);
    Eventually.that("all wait", () -> permits.waiting() == 5);
    permits.release(first);
    joinAll();
    assertTrue(low.get() >= 5, "in 10 s, LOW was done " + low + " times");
    assertTrue(high.get() > 10 * low.get(), high + " times HIGH, " + low + " times LOW");
  }

  @Test
  void nothingIsAllocatedWhereNobodyWaits() {
    Permits permits = permits(2);
    Run run = new Run(A, Priority.LOW);
    ThreadMXBean bean = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 5; round++) {
      long before = bean.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < 10_000; i++) {
        if (permits.acquire(run, true) != Turn.GRANTED || run.checkpoint() != Signal.CONTINUE) {
          throw new AssertionError();
        }
        permits.release(run);
      }
      least = Math.min(least, bean.getCurrentThreadAllocatedBytes() - before);
    }
    assertTrue(least < 10_000, "10,000 turns allocate " + least + " bytes");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void randomTurnsNeitherHangNorLeak(boolean isLending) throws Exception {
    long seed = ThreadLocalRandom.current().nextLong();
    System.out.println("PermitsTest seed " + seed);
    Random random = new Random(seed);
    Permits permits = new Permits("device", 2, MANY, System::nanoTime, isLending);
    AtomicInteger holding = new AtomicInteger();
    AtomicInteger stopped = new AtomicInteger();
    for (int t = 0; t < 8; t++) {
      Random own = new Random(random.nextLong());
      start(
          () -> {
            for (int i = 0; i < 300; i++) {
              turn(permits, own, isLending ? 3 : 2, holding, stopped);
            }
          });
    }
    joinAll();
    assertEquals(0, permits.held(), () -> "seed " + seed);
    assertEquals(0, permits.waiting(), () -> "seed " + seed);
    assertTrue(permits.preemptions() > 0 && stopped.get() > 0, () -> "seed " + seed);
  }

  private void turn(
      Permits permits, Random random, int most, AtomicInteger holding, AtomicInteger stopped) {
    Run run =
        new Run(
            random.nextBoolean() ? A : new Application("b", "" + random.nextInt(2)),
            Priority.values()[random.nextInt(3)]);
    if (random.nextInt(4) == 0) {
      int delay = random.nextInt(200);
      Thread.ofVirtual()
          .start(
              () -> {
                for (int i = 0; i < delay; i++) {
                  Thread.yield();
                }
                run.stop(Signal.CANCELLED);
              });
    }
    if (permits.acquire(run, random.nextInt(8) != 0) == Turn.GRANTED) {
      Signal signal = Signal.CONTINUE;
      for (int i = random.nextInt(20); i >= 0 && signal == Signal.CONTINUE; i--) {
        assertTrue(holding.incrementAndGet() <= most, "more hold a permit than there are");
        Thread.yield();
        if (random.nextInt(16) == 0) {
          run.inherit(new Run(A, Priority.HIGH));
        }
        holding.decrementAndGet();
        signal = run.checkpoint();
      }
      run.disinherit();
    }
    stopped.addAndGet(run.status() == Signal.CONTINUE ? 0 : 1);
    permits.release(run);
  }
}
