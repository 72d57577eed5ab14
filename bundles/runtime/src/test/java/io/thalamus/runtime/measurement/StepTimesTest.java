// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Which executions of a step are timed. */
class StepTimesTest {
  private static final int EXECUTIONS = 1600;

  private final StepTimes times = new StepTimes(Optional.empty());

  /** Returns how many of so many executions that take so long are timed. */
  private int timed(int executions, long nanos) {
    int timed = 0;
    for (int i = 0; i < executions; i++) {
      if (times.isDue()) {
        timed++;
        times.add(nanos);
      } else {
        assertEquals(nanos, times.latestNanos());
      }
    }
    return timed;
  }

  @Test
  void longStepsAreTimedEachTime() {
    assertEquals(EXECUTIONS, timed(EXECUTIONS, 20_000));
  }

  @Test
  void shortStepsAreTimedNowAndThenOnceTheyAreKnown() {
    assertEquals(12, timed(12, 300));
    assertEquals(EXECUTIONS / 16, timed(EXECUTIONS, 300));
    assertTrue(times.own().isPresent());
  }

  @Test
  void aStepThatHasBecomeLongIsTimedEachTimeAgain() {
    timed(EXECUTIONS, 300);
    while (!times.isDue()) {
      // The next one that is timed takes long.
    }
    times.add(20_000);
    assertEquals(EXECUTIONS, timed(EXECUTIONS, 20_000));
  }
}
