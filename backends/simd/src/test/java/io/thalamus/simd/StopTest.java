// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.tck.check.Check;
import io.thalamus.tck.control.StopSuite;
import io.thalamus.vectors.Outcome;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Prepares stop between operations, and long operations in their middle. */
class StopTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void preparesAndLongOperationsCanBeStopped(int threads) throws InterruptedException {
    try (SimdDevice device = new SimdDevice("1.0.0", threads)) {
      List<Check> checks = new StopSuite(device).checks();
      assertEquals(22, checks.size(), checks::toString);
      for (Check check : checks) {
        assertEquals(Outcome.PASSED, check.run(), check.name());
      }
    }
  }
}
