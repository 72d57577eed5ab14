// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.tck.check.Check;
import io.thalamus.tck.control.StopSuite;
import io.thalamus.vectors.Outcome;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Prepares stop between operations, and long operations in their middle. */
class StopTest {
  @Test
  void preparesAndLongOperationsCanBeStopped() throws InterruptedException {
    List<Check> checks = new StopSuite(new CpuDevice("1.0.0")).checks();
    assertEquals(24, checks.size(), checks::toString);
    for (Check check : checks) {
      assertEquals(Outcome.PASSED, check.run(), check.name());
    }
  }
}
