// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.tck.control.StopSuite;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Long operations stop in their middle. */
class StopTest {
  @Test
  void longOperationsCanBeStopped() {
    List<StopSuite.Finding> findings = new StopSuite(new CpuDevice("1.0.0")).run();
    assertEquals(
        List.of(),
        findings.stream()
            .filter(finding -> finding.fault().isPresent())
            .map(StopSuite.Finding::text)
            .toList());
    assertEquals(16, findings.size(), findings::toString);
  }
}
