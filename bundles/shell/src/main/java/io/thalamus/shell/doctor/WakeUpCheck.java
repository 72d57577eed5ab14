// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.doctor;

import io.thalamus.memory.EventFlag;
import io.thalamus.shell.doctor.Diagnostics.Finding;
import io.thalamus.shell.doctor.Diagnostics.Verdict;

/** The check of {@code nn:doctor} for the way in which both ends of a burst wake. Stateless. */
final class WakeUpCheck {
  private WakeUpCheck() {}

  /** Returns what is found for an {@link EventFlag#implementation}. */
  static Finding of(String implementation) {
    return implementation.startsWith("polling")
        ? new Finding(
            "wake-ups",
            Verdict.SLOW,
            implementation + "; a burst that rests answers up to a few milliseconds later",
            "")
        : new Finding("wake-ups", Verdict.GOOD, "by " + implementation, "");
  }
}
