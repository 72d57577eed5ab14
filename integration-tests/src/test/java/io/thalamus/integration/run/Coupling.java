// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.hal.Device;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.tck.coupling.CouplingReport;
import io.thalamus.tck.coupling.CouplingSuite;
import io.thalamus.vectors.ConformanceData;
import java.nio.file.Path;

/** Each operation on unsigned quantized values computes the same on signed ones. */
final class Coupling implements Proof {
  @Override
  public String name() {
    return "coupling";
  }

  @Override
  public String purpose() {
    return "unsigned and signed quantized types give equal results (--dir VECTORS --device cpu)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    String dir = settings.text("dir", "");
    Device device = Devices.named(settings.text("device", "cpu"));
    settings.end();
    Path root = dir.isEmpty() ? ConformanceData.vectors().orElseThrow() : Path.of(dir);
    figures.figure("vectors", root);
    figures.figure("device", device.info().name());
    CouplingReport report = new CouplingSuite(device).run(root);
    report.coupled().forEach((operation, count) -> figures.figure("coupled." + operation, count));
    report
        .unsupported()
        .forEach((operation, count) -> figures.figure("unsupported." + operation, count));
    report.failures().forEach(failure -> System.out.println("failed: " + failure.text()));
    figures.figure("tried", report.pairs().size());
    figures.figure("triedByAosp", CouplingReport.AOSP_COUNT);
    figures.figure("operations", report.coupled().size());
    figures.figure("failed", report.failures().size());
    figures.promise("pairs were found", report.pairs().size() > 0);
    figures.promise("both types are taken and give equal results", report.failures().isEmpty());
  }
}
