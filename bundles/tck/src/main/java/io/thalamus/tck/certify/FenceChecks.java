// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.tck.check.Probes;
import io.thalamus.tck.fence.FenceSuite;
import java.time.Duration;

/** Fenced executions, over some examples. */
final class FenceChecks {
  private static final int SOME = 3;

  /** Longer than any example takes; only a driver that never answers makes anyone wait for it. */
  private static final Duration LIMIT = Duration.ofMinutes(1);

  private FenceChecks() {}

  static void run(Subject subject, Findings findings) throws InterruptedException {
    if (subject.singles().isEmpty()) {
      findings.skip("fences", "the device takes none of the kit's operations");
      return;
    }
    FenceSuite suite =
        new FenceSuite(subject.device(), Probes.some(subject.singles(), SOME), LIMIT);
    findings.run(suite.checks());
  }
}
