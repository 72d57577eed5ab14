// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.hal.PrepareConfig;
import io.thalamus.integration.proof.Figures;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.npu.NpuConfig;
import io.thalamus.npu.NpuDevice;
import io.thalamus.npu.NpuPreparedModel;
import io.thalamus.npu.timing.PowerBudget;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.vectors.ModelDirectory;
import java.nio.file.Path;
import java.util.Locale;

/**
 * The table of what a burst costs and saves on the accelerator in a minute, by the rate of
 * requests.
 *
 * @param search says where the models are, and how long their tilings are searched
 * @param rates of requests, in each second
 */
record NpuBursts(NpuSearch search, double... rates) {
  private static final String FORMAT = "%-27s %8.0f %-7s %10d %10.6f %9.4f %9.4f %8d%n";

  void run(Figures figures) throws Exception {
    if (search.folder().isEmpty()) {
      figures.figure("bursts", "skipped, since there is no folder shared/models");
      return;
    }
    System.out.printf(
        Locale.ROOT,
        "%n%-27s %8s %-7s %10s %10s %9s %9s %8s%n",
        "model",
        "rate/s",
        "burst",
        "executions",
        "joules",
        "mean ms",
        "worst ms",
        "ramps");
    run(figures, search.models().getFirst());
  }

  private void run(Figures figures, String name) throws Exception {
    NpuConfig config = NpuConfig.standard().withSearch(search.budget(), true, search.seed());
    Path model = ModelDirectory.read(search.folder().get().resolve(name)).model();
    try (NpuDevice device = new NpuDevice("0.1.0", config);
        SharedMemory file = SharedMemory.map(model);
        NpuPreparedModel prepared =
            (NpuPreparedModel)
                device.prepare(
                    new TfliteReader().read(file).model(),
                    PrepareConfig.DEFAULT.with(ExecutionPreference.FAST_SINGLE_ANSWER))) {
      for (double rate : rates) {
        PowerBudget without = print(name, rate, "without", prepared.minute(rate, false));
        PowerBudget with = print(name, rate, "with", prepared.minute(rate, true));
        String at = String.format(Locale.ROOT, "%s.%.0f", name, rate);
        figures.figure(at + ".burst.joules", with.joules() - without.joules());
        figures.figure(at + ".burst.micros", (with.meanNanos() - without.meanNanos()) / 1000.0);
        figures.promise(
            at + ": a burst never makes requests slower", with.meanNanos() <= without.meanNanos());
      }
    }
  }

  private static PowerBudget print(String name, double rate, String burst, PowerBudget budget) {
    System.out.printf(
        Locale.ROOT,
        FORMAT,
        name,
        rate,
        burst,
        budget.executions(),
        budget.joules(),
        budget.meanNanos() / 1e6,
        budget.worstNanos() / 1e6,
        budget.ramps());
    return budget;
  }
}
