// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.shell.doctor.Diagnostics.Finding;
import io.thalamus.shell.doctor.Diagnostics.Verdict;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@link SharedMemoryCheck}: directories with and without room. */
class SharedMemoryCheckTest {
  @TempDir Path roomy;

  @Test
  void aDirectoryWithRoomIsGood() {
    Finding finding = SharedMemoryCheck.of(List.of(roomy, missing()));
    assertEquals(Verdict.GOOD, finding.verdict());
    assertTrue(finding.observation().startsWith(roomy + " with "), finding.observation());
    assertEquals("", finding.remedy());
  }

  private Path missing() {
    return roomy.resolve("missing");
  }

  @Test
  void thePreferredDirectoryWithoutRoomIsSlow() {
    Finding finding = SharedMemoryCheck.of(List.of(missing(), roomy));
    assertEquals(Verdict.SLOW, finding.verdict());
    assertTrue(
        finding
            .observation()
            .startsWith(missing() + ", which cannot be written, then " + roomy + " with "),
        finding.observation());
    assertTrue(finding.remedy().endsWith("=-Dthalamus.memory=DIR"), finding.remedy());
  }

  @Test
  void noRoomAnywhereIsBroken() {
    Finding finding = SharedMemoryCheck.of(List.of(missing()));
    assertEquals(Verdict.BROKEN, finding.verdict());
    assertTrue(
        finding.observation().endsWith("end with RESOURCE_EXHAUSTED_TRANSIENT"),
        finding.observation());
  }
}
