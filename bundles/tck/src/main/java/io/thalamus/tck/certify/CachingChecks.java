// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.tck.caching.CachingTests;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.graph.GraphCheck;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import java.io.IOException;
import java.util.List;

/** Compilation caching: where it is claimed it works and is safe, else restoring is refused. */
final class CachingChecks {
  private CachingChecks() {}

  static void run(Subject subject, Findings findings) throws IOException, InterruptedException {
    try (CachingTests tests = new CachingTests(subject.device(), subject.seed())) {
      run(tests, subject, findings);
    }
  }

  static void run(CachingTests tests, Subject subject, Findings findings)
      throws IOException, InterruptedException {
    try {
      if (!CachingTests.isClaimed(subject.device())) {
        findings.run(List.of(tests.unclaimed()));
        return;
      }
      List<Check> checks = tests.checks();
      if (checks.isEmpty()) {
        findings.skip("models", "the device takes none of the kit's models with constants");
      }
      findings.run(checks);
      Device restoring = tests.restoring();
      findings.run(
          "from cache times of operations", () -> ProfileChecks.run(restoring, subject.some()));
      GraphCheck restored = new GraphCheck(restoring);
      for (Example example : subject.singles()) {
        findings.add("from cache " + example.name(), restored.run(example));
      }
    } catch (DeviceException e) {
      String fault = "refused with " + e.status() + ": " + e.getMessage();
      findings.add("models", new Outcome.Failed(fault));
    }
  }
}
