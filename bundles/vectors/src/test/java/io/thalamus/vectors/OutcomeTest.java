// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** A failure names what was thrown, its first cause and its place on one line. */
class OutcomeTest {
  private static String reason(Throwable thrown) {
    return Outcome.Failed.of(thrown).reason();
  }

  @Test
  void theFirstCauseIsNamedOnceWithItsPlace() {
    Throwable cause = new NoClassDefFoundError("com/example/Kernel");
    String place = " at " + cause.getStackTrace()[0];
    assertEquals("threw " + cause + place, reason(cause));
    assertEquals(
        "threw java.util.concurrent.ExecutionException: " + cause + place,
        reason(new ExecutionException(cause)));
    assertEquals(
        "threw java.lang.IllegalStateException: the kernel, caused by " + cause + place,
        reason(new IllegalStateException("the kernel", new RuntimeException(cause))));
  }

  @Test
  void causesInACircleAndLinesInAMessageEndOnOneLine() {
    RuntimeException first = new RuntimeException("first\n  line");
    RuntimeException second = new RuntimeException("second", first);
    first.initCause(second);
    String reason = reason(first);
    assertTrue(reason.startsWith("threw java.lang.RuntimeException: first line"), reason);
    assertEquals(1, reason.lines().count());
  }

  @Test
  void aPlaceInTheLibraryOfTheJdkGivesWayToItsCaller() {
    try {
      Integer.parseInt("a");
    } catch (NumberFormatException e) {
      assertTrue(reason(e).contains(" at io.thalamus.vectors.OutcomeTest"), reason(e));
    }
  }
}
