// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.shell.doctor.Diagnostics.Finding;
import io.thalamus.shell.doctor.Diagnostics.Verdict;
import org.junit.jupiter.api.Test;

class WakeUpCheckTest {
  @Test
  void pollingIsSlowAndSaysWhy() {
    assertEquals(new Finding("wake-ups", Verdict.GOOD, "by futex", ""), WakeUpCheck.of("futex"));
    assertEquals(
        new Finding(
            "wake-ups",
            Verdict.SLOW,
            "polling: no futex is known for Plan9 on mips;"
                + " a burst that rests answers up to a few milliseconds later",
            ""),
        WakeUpCheck.of("polling: no futex is known for Plan9 on mips"));
  }
}
