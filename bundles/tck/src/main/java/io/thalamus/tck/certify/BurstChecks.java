// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.burst.BurstSettings;
import io.thalamus.burst.QueueBurstService;
import io.thalamus.tck.burst.BurstDevice;
import io.thalamus.tck.burst.BurstSuite;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.util.List;

/** Bursts, whether the device serves them itself or by its synchronous execution. */
final class BurstChecks {
  private BurstChecks() {}

  static void run(Subject subject, Findings findings)
      throws IOException, VectorFormatException, InterruptedException {
    if (subject.singles().isEmpty()) {
      findings.skip("bursts", "the device takes none of the kit's operations");
      return;
    }
    try (QueueBurstService service = new QueueBurstService()) {
      BurstSuite suite =
          new BurstSuite(
              subject.device(),
              service,
              subject.singles(),
              subject.settings().packets,
              subject.seed(),
              BurstSuite.USUAL_LIMIT,
              subject.badPackets());
      findings.run(suite.checks());
      BurstDevice device =
          new BurstDevice(subject.device(), service, BurstSettings.DEFAULT, BurstSuite.USUAL_LIMIT);
      OperationChecks.operations(subject, device, List.of(RunOptions.Mode.SYNC), findings);
    }
  }
}
