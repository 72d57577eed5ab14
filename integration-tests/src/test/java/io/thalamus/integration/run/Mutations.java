// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.hal.Device;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.tck.mutation.Family;
import io.thalamus.tck.mutation.MutationFamily;
import io.thalamus.tck.mutation.MutationReport;
import io.thalamus.tck.mutation.MutationSuite;
import io.thalamus.tck.mutation.RequestFamily;
import io.thalamus.tck.mutation.Verdict.Layer;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.Example;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Damages every vector in AOSP's 22 ways: somebody must refuse each. */
final class Mutations implements Proof {
  private static final int MOST_SHOWN = 3;

  @Override
  public String name() {
    return "mutations";
  }

  @Override
  public String purpose() {
    return "damaged models are refused (--dir VECTORS --graphs 200 --device cpu"
        + " --all true | --sample 2 --seed 1 of each family for each example)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    String dir = settings.text("dir", "");
    Device device = Devices.named(settings.text("device", "cpu"));
    boolean all = Boolean.parseBoolean(settings.text("all", "false"));
    int sample = Math.toIntExact(settings.number("sample", 2));
    int graphs = Math.toIntExact(settings.number("graphs", 200));
    long seed = settings.number("seed", 1);
    settings.end();
    Path root = dir.isEmpty() ? ConformanceData.vectors().orElseThrow() : Path.of(dir);
    figures.figure("vectors", root);
    figures.figure("device", device.info().name());
    figures.figure("sample", all ? "all" : sample + " of each family, seed " + seed);
    MutationSuite every = MutationSuite.all(device);
    MutationSuite suite = all ? every : every.sampled(sample, seed);
    long start = System.nanoTime();
    tell("vectors.", suite.run(root), figures);
    if (graphs > 0) {
      // Vectors hold few operations each; order and writers need more.
      GraphGenerator generator = GraphGenerator.over(device);
      List<Example> examples = new ArrayList<>();
      for (int i = 0; i < graphs; i++) {
        examples.add(generator.graph(seed + i));
      }
      tell("graphs.", suite.run(examples), figures);
    }
    figures.figure("modelsOfAosp", Family.AOSP_MODELS);
    figures.figure("seconds", (System.nanoTime() - start) / 1_000_000_000);
  }

  private static void tell(String prefix, MutationReport report, Figures figures) {
    report.table().forEach(System.out::println);
    report
        .acceptedByKind()
        .forEach((what, count) -> figures.figure(prefix + "accepted " + what, count));
    Map<String, Integer> shown = new HashMap<>();
    for (MutationReport.Accepted accepted : report.accepted()) {
      if (shown.merge(accepted.kind(), 1, Integer::sum) <= MOST_SHOWN) {
        System.out.println("accepted: " + accepted.text());
      }
    }
    figures.figure(prefix + "models", report.models());
    figures.figure(prefix + "tried", report.tried());
    figures.figure(prefix + "refusedByDecoding", report.count(Layer.DECODING));
    figures.figure(prefix + "refusedByValidation", report.count(Layer.VALIDATION));
    figures.figure(prefix + "refusedByDevice", report.count(Layer.DEVICE));
    figures.figure(prefix + "accepted", report.count(Layer.NOBODY));
    for (RequestFamily family : RequestFamily.values()) {
      figures.figure(prefix + "requests." + family.aospName(), report.tried(family));
    }
    figures.figure(prefix + "acceptedRequests", report.acceptedRequests());
    figures.promise("models were found", report.models() > 0);
    for (MutationFamily family : MutationFamily.values()) {
      if (report.tried(family) == 0) {
        // Only order and writers need one operation to read what another writes.
        figures.figure(
            prefix + "untried." + family.aospName(), "no supported example has a place for it");
      }
    }
    figures.promise("no mutation is accepted", report.count(Layer.NOBODY) == 0);
    figures.promise("no damaged request is accepted", report.acceptedRequests() == 0);
  }
}
