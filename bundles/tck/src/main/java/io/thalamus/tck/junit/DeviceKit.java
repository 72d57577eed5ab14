// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.junit;

import io.thalamus.hal.Device;
import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.certify.CertificationReport;
import io.thalamus.tck.certify.Finding;
import io.thalamus.vectors.Outcome;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * The conformance kit as tests: extend it, and say how the device is made. Used by JUnit, in one
 * thread; the device is closed afterwards where it can be.
 */
public abstract class DeviceKit {
  /** Makes a device that nobody else uses; called several times, also while another one lives. */
  protected abstract Device newDevice() throws Exception;

  /** Returns how the device is tested; overridden to add exceptions, a reference or vectors. */
  protected Certification certification(Device device) {
    return Certification.of(device);
  }

  @TestFactory
  final Stream<DynamicContainer> kit() throws Exception {
    Device device = newDevice();
    try {
      CertificationReport report =
          certification(device).withActivation(this::newDevice).run(_ -> {});
      System.out.println(report.text());
      Map<String, List<DynamicTest>> groups = new LinkedHashMap<>();
      for (Finding finding : report.findings()) {
        groups.computeIfAbsent(finding.group(), _ -> new ArrayList<>()).add(test(finding));
      }
      return groups.entrySet().stream()
          .map(group -> DynamicContainer.dynamicContainer(group.getKey(), group.getValue()));
    } finally {
      if (device instanceof AutoCloseable closeable) {
        closeable.close();
      }
    }
  }

  private static DynamicTest test(Finding finding) {
    return DynamicTest.dynamicTest(
        finding.name(),
        () -> {
          switch (finding.outcome()) {
            case Outcome.Passed _ -> {}
            case Outcome.Failed failed -> Assertions.fail(failed.reason());
            case Outcome.Skipped skipped -> Assumptions.abort(skipped.reason());
          }
        });
  }
}
