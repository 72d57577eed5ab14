// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.hal.Device;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.tck.mutation.MutationFamily;
import io.thalamus.tck.mutation.MutationReport;
import io.thalamus.tck.mutation.MutationSuite;
import io.thalamus.tck.mutation.RequestFamily;
import io.thalamus.tck.mutation.Verdict.Layer;
import io.thalamus.vectors.ConformanceData;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Spoils every vector in AOSP's 22 ways: somebody must refuse each. */
final class Mutations implements Proof {
  private static final int MOST_SHOWN = 3;

  @Override
  public String name() {
    return "mutations";
  }

  @Override
  public String purpose() {
    return "spoiled models are refused (--dir VECTORS --device cpu --all true | --sample 2 --seed 1"
        + " of each family for each example)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    String dir = settings.text("dir", "");
    Device device = Devices.named(settings.text("device", "cpu"));
    boolean all = Boolean.parseBoolean(settings.text("all", "false"));
    int sample = Math.toIntExact(settings.number("sample", 2));
    long seed = settings.number("seed", 1);
    settings.end();
    Path root = dir.isEmpty() ? ConformanceData.vectors().orElseThrow() : Path.of(dir);
    figures.figure("vectors", root);
    figures.figure("device", device.info().name());
    figures.figure("sample", all ? "all" : sample + " of each family, seed " + seed);
    long start = System.nanoTime();
    MutationSuite suite = MutationSuite.all(device);
    MutationReport report = (all ? suite : suite.sampled(sample, seed)).run(root);
    report.table().forEach(System.out::println);
    report.acceptedByKind().forEach((what, count) -> figures.figure("accepted " + what, count));
    Map<String, Integer> shown = new HashMap<>();
    for (MutationReport.Accepted accepted : report.accepted()) {
      if (shown.merge(accepted.kind(), 1, Integer::sum) <= MOST_SHOWN) {
        System.out.println("accepted: " + accepted.text());
      }
    }
    figures.figure("models", report.models());
    figures.figure("modelsOfAosp", MutationFamily.AOSP_MODELS);
    figures.figure("tried", report.tried());
    figures.figure("refusedByDecoding", report.count(Layer.DECODING));
    figures.figure("refusedByValidation", report.count(Layer.VALIDATION));
    figures.figure("refusedByDevice", report.count(Layer.DEVICE));
    figures.figure("accepted", report.count(Layer.NOBODY));
    for (RequestFamily family : RequestFamily.values()) {
      figures.figure("requests." + family.aospName(), report.tried(family));
    }
    figures.figure("acceptedRequests", report.acceptedRequests());
    figures.figure("seconds", (System.nanoTime() - start) / 1_000_000_000);
    figures.promise("models were found", report.models() > 0);
    for (MutationFamily family : MutationFamily.values()) {
      if (report.tried(family) == 0) {
        // Only order and writers need one operation to read what another writes.
        figures.figure("untried." + family.aospName(), "no supported example has a place for it");
      }
    }
    figures.promise("no mutation is accepted", report.count(Layer.NOBODY) == 0);
    figures.promise("no spoiled request is accepted", report.acceptedRequests() == 0);
  }
}
