// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.tck.control.StopSuite;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Long operations stop in their middle. */
class StopTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void longOperationsCanBeStopped(int threads) {
    List<StopSuite.Finding> findings;
    try (SimdDevice device = new SimdDevice("1.0.0", threads)) {
      findings = new StopSuite(device).run();
    }
    assertEquals(
        List.of(),
        findings.stream()
            .filter(finding -> finding.fault().isPresent())
            .map(StopSuite.Finding::text)
            .toList());
    assertEquals(10, findings.size(), findings::toString);
  }
}
