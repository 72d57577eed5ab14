// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.hal.Device;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.tck.graph.GraphReport;
import io.thalamus.tck.graph.GraphSuite;
import java.nio.file.Path;
import java.util.Locale;

/** Random graphs by seed, against an evaluation in float64 with bounds. */
final class RandomGraphs implements Proof {
  private static final int MOST_SHOWN = 40;

  @Override
  public String name() {
    return "graphs";
  }

  @Override
  public String purpose() {
    return "random graphs compute what they should (--count 2000 --seed 1 --device cpu --out DIR)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    int count = Math.toIntExact(settings.number("count", 2000));
    long seed = settings.number("seed", 1);
    Device device = Devices.named(settings.text("device", "cpu"));
    Path out =
        Path.of(
            settings.text(
                "out",
                Path.of(System.getProperty("thalamus.root"), "integration-tests/target/graphs")
                    .toString()));
    settings.end();
    long start = System.nanoTime();
    GraphGenerator generator = GraphGenerator.over(device);
    figures.figure("device", device.info().name());
    figures.figure("seed", seed);
    figures.figure("operations", generator.operations().size());
    figures.figure("operationsInTypes", generator.kinds().size());
    GraphReport report = GraphSuite.of(device).run(count, seed);
    report.operations().forEach((name, times) -> figures.figure("ran." + name, times));
    report.skipped().forEach((reason, times) -> figures.figure("skipped " + reason, times));
    report.failures().stream()
        .limit(MOST_SHOWN)
        .forEach(failure -> System.out.println("failed: " + failure.text()));
    GraphSuite.write(report.failures(), out).forEach(file -> figures.figure("written", file));
    figures.figure("graphs", count);
    figures.figure("passed", report.passed());
    figures.figure("failed", report.failures().size());
    figures.figure("elements", report.elements());
    figures.figure(
        "narrowPercent",
        String.format(
            Locale.ROOT, "%.2f", 100.0 * report.narrow() / Math.max(1, report.elements())));
    figures.figure("seconds", (System.nanoTime() - start) / 1_000_000_000);
    figures.promise("graphs were run", report.passed() > 0);
    figures.promise("no result is beyond its bounds", report.failures().isEmpty());
  }
}
