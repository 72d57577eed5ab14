// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.tck.domain.BufferedDevice;
import io.thalamus.tck.domain.DomainCheck;
import io.thalamus.tck.domain.DomainSuite;
import io.thalamus.tck.domain.SharedInputs;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** Buffers of the device: claimed ones work, unclaimed ones are refused. */
final class DomainChecks {
  private DomainChecks() {}

  static void run(Subject subject, Findings findings)
      throws IOException, VectorFormatException, InterruptedException {
    for (DomainCheck check : new DomainSuite(subject.device()).checks()) {
      findings.tryOut(check.name(), check.body()::run);
    }
    if (!subject.device().info().memoryDomain() || subject.singles().isEmpty()) {
      return;
    }
    BufferedDevice buffered = new BufferedDevice(subject.device());
    OperationChecks.operations(subject, buffered, List.of(RunOptions.Mode.SYNC), findings);
    findings.check(
        "arguments in buffers",
        buffered.buffers() > 0,
        "the device claims a memory domain, but had no buffer for any argument");
    for (Example example : ConcurrencyChecks.some(subject)) {
      findings.attempt("at once " + example.name(), () -> atOnce(subject.device(), example));
    }
  }

  /** Many executions at once read the same buffers. */
  private static Optional<String> atOnce(Device device, Example example) throws Exception {
    return Probes.with(
        device,
        example,
        (prepared, decoded) -> {
          byte[] expected = Probes.outputs(prepared, decoded);
          try (SharedInputs inputs = new SharedInputs(device, prepared, decoded)) {
            return ConcurrencyChecks.together(expected, inputs::execute);
          }
        });
  }
}
