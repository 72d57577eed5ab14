// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class DeadlineTest {
  @Test
  void aMomentOfTheClockIsADeadline() {
    long now = System.nanoTime();
    assertEquals(now + 5, Deadline.ofNanoTime(now + 5).nanoTime());
    assertTrue(Deadline.ofNanoTime(now).hasPassed());
    assertFalse(Deadline.ofNanoTime(now + Duration.ofHours(1).toNanos()).hasPassed());
    Deadline later = Deadline.after(Duration.ofHours(1));
    assertEquals(later.nanoTime(), Deadline.ofNanoTime(later.nanoTime()).nanoTime());
    assertThrows(IllegalStateException.class, Deadline.NONE::nanoTime);
  }
}
