// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tck.control.StopSuite;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Cancellation, of all calls that take it. */
final class ControlChecks {
  private ControlChecks() {}

  static void run(Subject subject, Findings findings) throws InterruptedException {
    Device device = subject.device();
    List<Example> examples = subject.some();
    if (!examples.isEmpty()) {
      findings.run("cancel at the first checkpoint", () -> cancel(device, examples));
    }
    List<Check> longOnes = new StopSuite(device).checks();
    if (longOnes.isEmpty()) {
      findings.skip("long operations", "the device takes none of the kit's long operations");
    }
    findings.run(longOnes);
  }

  private static ExecutionResult execute(Device device, Example example, ExecutionConfig config)
      throws Exception {
    try (DecodedExample decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT);
        TestRequest request = TestRequest.of(decoded)) {
      return prepared.execute(request.request(), config);
    }
  }

  /** Stops executions where they ask first; one without any work may not ask. */
  private static void cancel(Device device, List<Example> examples) throws Exception {
    AtomicInteger asked = new AtomicInteger();
    ExecutionControl control =
        () -> {
          asked.incrementAndGet();
          return ExecutionControl.Signal.CANCELLED;
        };
    for (Example example : examples) {
      int before = asked.get();
      ExecutionResult result = execute(device, example, ExecutionConfig.DEFAULT.with(control));
      if (asked.get() > before) {
        Expect.at(example.name(), () -> Expect.failed(result, ErrorStatus.GENERAL_FAILURE));
      }
    }
    Expect.that(asked.get() > 0, "it asks at no operation whether it is to stop");
  }
}
