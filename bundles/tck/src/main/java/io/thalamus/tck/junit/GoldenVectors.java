// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.junit;

import io.thalamus.hal.Device;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.DeviceTarget;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.RunOptions.Outputs;
import io.thalamus.vectors.SuiteReport;
import io.thalamus.vectors.SuiteReport.Result;
import io.thalamus.vectors.VectorSuite;
import io.thalamus.vectors.VectorSuite.Listener;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;

/** The golden vectors beside the project, as a test of a device. Stateless. */
public final class GoldenVectors {
  private GoldenVectors() {}

  /**
   * Runs the examples of which the device claims all operations; where there are no vectors, the
   * test is skipped.
   *
   * @param least how many it claims at least: with fewer, something is not claimed any more
   * @param modes how much is said of the outputs
   */
  public static void assertPass(Device device, int least, Outputs... modes) throws Exception {
    Optional<Path> vectors = ConformanceData.vectors();
    Assumptions.assumeTrue(vectors.isPresent(), "there are no golden vectors here");
    for (Outputs mode : modes) {
      SuiteReport report =
          VectorSuite.of(vectors.get())
              .run(new DeviceTarget(device), RunOptions.DEFAULT.with(mode), Listener.NONE);
      System.out.println(
          device.info().name() + ", " + vectors.get() + ", " + mode + ": " + report.summary());
      Assertions.assertEquals(List.of(), report.failures().stream().map(Result::text).toList());
      if (mode == Outputs.FULLY_SPECIFIED) {
        Assertions.assertTrue(report.passed() >= least, report::summary);
      }
    }
  }
}
