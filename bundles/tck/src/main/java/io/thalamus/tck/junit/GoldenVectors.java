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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;

/**
 * The golden vectors beside the project, and the project's own cases, which operations of
 * extensions have too, as a test of a device. Stateless.
 */
public final class GoldenVectors {
  private static final String OWN = "backends/cpu/src/test/resources/cases";

  private GoldenVectors() {}

  /**
   * Runs the examples of which the device claims all operations; where there are no vectors, the
   * test ends as skipped after the project's own cases.
   *
   * @param least how many vectors it claims at least: with fewer, something is not claimed any more
   * @param modes how much is said of the outputs
   */
  public static void assertPass(Device device, int least, Outputs... modes) throws Exception {
    Path own = Path.of(System.getProperty("thalamus.root", "")).resolve(OWN);
    if (Files.isDirectory(own)) {
      assertPass(device, own, 1, modes);
    }
    Optional<Path> vectors = ConformanceData.vectors();
    Assumptions.assumeTrue(vectors.isPresent(), "there are no golden vectors here");
    assertPass(device, vectors.get(), least, modes);
  }

  private static void assertPass(Device device, Path folder, int least, Outputs... modes)
      throws Exception {
    for (Outputs mode : modes) {
      SuiteReport report =
          VectorSuite.of(folder)
              .run(new DeviceTarget(device), RunOptions.DEFAULT.with(mode), Listener.NONE);
      System.out.println(
          device.info().name() + ", " + folder + ", " + mode + ": " + report.summary());
      Assertions.assertEquals(List.of(), report.failures().stream().map(Result::text).toList());
      if (mode == Outputs.FULLY_SPECIFIED) {
        Assertions.assertTrue(report.passed() >= least, report::summary);
      }
    }
  }
}
