// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tck.domain.BufferedDevice;
import io.thalamus.tck.domain.BufferedRequest;
import io.thalamus.tck.domain.DomainSuite;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.util.List;

/** Buffers of the device: claimed ones work, unclaimed ones are refused. */
final class DomainChecks {
  private DomainChecks() {}

  static void run(Subject subject, Findings findings)
      throws IOException, VectorFormatException, InterruptedException {
    findings.run(new DomainSuite(subject.device()).checks());
    if (!subject.device().info().memoryDomain() || subject.singles().isEmpty()) {
      return;
    }
    BufferedDevice buffered = new BufferedDevice(subject.device());
    OperationChecks.operations(subject, buffered, List.of(RunOptions.Mode.SYNC), findings);
    findings.check(
        "arguments in buffers",
        buffered.buffers() > 0,
        "the device claims a memory domain, but had no buffer for any argument");
    for (Example example : subject.some()) {
      findings.prepared(
          "at once " + example.name(),
          example,
          (prepared, decoded) -> atOnce(subject.device(), prepared, decoded));
    }
  }

  /** Many executions at once read the same buffers. */
  private static void atOnce(Device device, PreparedModel prepared, DecodedExample decoded)
      throws Exception {
    byte[] expected = Probes.outputs(prepared, decoded);
    try (TestRequest plain = TestRequest.of(decoded);
        BufferedRequest inputs =
            BufferedRequest.of(device, prepared, decoded.model().main(), plain.request())) {
      ConcurrencyChecks.together(
          expected,
          () -> {
            try (TestRequest own = TestRequest.of(decoded)) {
              Expect.completed(
                  "it", prepared.execute(inputs.withOutputs(own), ExecutionConfig.DEFAULT));
              return own.allOutputs();
            }
          });
    }
  }
}
