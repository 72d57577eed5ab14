// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.model.Priority;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The yields of executions, at checkpoints that are a tenth of a turn apart by the test's clock.
 */
class ProcessorTurnsTest {
  private static final int CHECKPOINTS_OF_A_TURN = 10;
  private static final long STEP_NANOS = ProcessorTurns.TURN_NANOS / CHECKPOINTS_OF_A_TURN;
  private static final int TURNS = 50;

  private final AtomicLong clock = new AtomicLong(TimeUnit.HOURS.toNanos(1));
  private final AtomicInteger yields = new AtomicInteger();
  private final ProcessorTurns turns = new ProcessorTurns(clock::get, yields::incrementAndGet);
  private final Permits permits = new Permits("device", 2, 10, clock::get, false, turns);
  private final Permits others = new Permits("other device", 2, 10, clock::get, false, turns);

  private static final class Run extends Contender {
    Run(String application, Priority priority) {
      super(new Application(application), priority);
    }

    @Override
    protected long nanosLeft() {
      return TimeUnit.SECONDS.toNanos(1);
    }

    @Override
    public Signal status() {
      return Signal.CONTINUE;
    }
  }

  /** Has one hold a permit for some turns and pass its checkpoints; returns how often it yields. */
  private int yieldsOf(Run run) {
    int before = yields.get();
    permits.acquire(run, true);
    for (int i = 0; i < TURNS * CHECKPOINTS_OF_A_TURN; i++) {
      assertEquals(Signal.CONTINUE, run.checkpoint());
      clock.addAndGet(STEP_NANOS);
    }
    permits.release(run);
    return yields.get() - before;
  }

  private void comesAndGoes(Permits where, Priority priority) {
    Run run = new Run("another", priority);
    where.acquire(run, true);
    where.release(run);
  }

  @Test
  void nobodyYieldsAmongThoseOfOnePriority() {
    comesAndGoes(permits, Priority.LOW);
    assertEquals(0, yieldsOf(new Run("a", Priority.LOW)));
  }

  @ParameterizedTest
  @CsvSource({
    "LOW, HIGH, true",
    "LOW, MEDIUM, true",
    "MEDIUM, HIGH, true",
    "MEDIUM, LOW, false",
    "MEDIUM, MEDIUM, false",
    "HIGH, LOW, false",
    "HIGH, HIGH, false"
  })
  void theLessUrgentYieldOnceATurn(Priority own, Priority other, boolean yielding) {
    comesAndGoes(permits, other);
    assertEquals(yielding ? TURNS : 0, yieldsOf(new Run("a", own)));
  }

  @Test
  void anArrivalAtAnotherDeviceCountsAndTheShortExecutionsOfAThreadShareTheirTurn() {
    comesAndGoes(others, Priority.HIGH);
    for (int i = 0; i < TURNS * CHECKPOINTS_OF_A_TURN; i++) {
      Run brief = new Run("a", Priority.LOW);
      permits.acquire(brief, true);
      brief.checkpoint();
      permits.release(brief);
      clock.addAndGet(STEP_NANOS);
    }
    assertEquals(TURNS, yields.get());
  }

  @Test
  void theTimeThatOthersHadIsNoTimeOfTheExecution() {
    long others = TimeUnit.MILLISECONDS.toNanos(3);
    ProcessorTurns busy = new ProcessorTurns(clock::get, () -> clock.addAndGet(others));
    Permits device = new Permits("device", 1, 10, clock::get, false, busy);
    comesAndGoes(device, Priority.HIGH);
    Run low = new Run("a", Priority.LOW);
    device.acquire(low, true);
    low.checkpoint();
    low.checkpoint();
    clock.addAndGet(ProcessorTurns.TURN_NANOS);
    low.checkpoint();
    assertEquals(2 * others, low.pausedNanos(clock.get()));
    assertEquals(2 * others, low.waitedNanos());
    device.release(low);
  }

  /** A thread that waits for a device in another process has no processor to yield. */
  @Test
  void whoIsAskedForTheStatusAloneKeepsTheTimeAsItsOwn() {
    comesAndGoes(permits, Priority.HIGH);
    Run low = new Run("a", Priority.LOW);
    permits.acquire(low, true);
    for (int i = 0; i < TURNS * CHECKPOINTS_OF_A_TURN; i++) {
      assertEquals(Signal.CONTINUE, low.isPauseWanted() ? low.checkpoint() : low.status());
      clock.addAndGet(STEP_NANOS);
    }
    assertEquals(0, yields.get());
    assertEquals(0, low.pausedNanos(clock.get()));
    permits.release(low);
  }

  @Test
  void whoHasInheritedAnUrgentRankDoesNotYield() {
    Run low = new Run("a", Priority.LOW);
    comesAndGoes(permits, Priority.HIGH);
    low.inherit(new Run("a", Priority.HIGH));
    assertEquals(0, yieldsOf(low));
    low.disinherit();
    assertEquals(TURNS, yieldsOf(low));
  }

  @Test
  void nobodyYieldsLongAfterTheLastUrgentOne() {
    comesAndGoes(permits, Priority.HIGH);
    assertEquals(TURNS, yieldsOf(new Run("a", Priority.LOW)));
    for (int i = 0; i < 2; i++) {
      clock.addAndGet(ProcessorTurns.PERIOD_NANOS);
      yieldsOf(new Run("a", Priority.LOW));
    }
    assertEquals(0, yieldsOf(new Run("a", Priority.LOW)));
    comesAndGoes(permits, Priority.HIGH);
    assertEquals(TURNS, yieldsOf(new Run("a", Priority.LOW)));
  }
}
