// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.hal.PrepareConfig;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.npu.NpuConfig;
import io.thalamus.npu.NpuDevice;
import io.thalamus.npu.NpuPreparedModel;
import io.thalamus.npu.NpuReport;
import io.thalamus.npu.command.Opcode.Engine;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.ModelDirectory;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The table of what one execution takes on the accelerator, by the tilings that its compilation
 * tried: none, a quarter of the budget, all of it.
 *
 * @param folder of the public models; empty where they are not here
 */
record NpuSearch(Optional<Path> folder, List<String> models, int budget, long seed) {
  private static final String MODELS =
      "kws_dscnn_int8,ad01_autoencoder_int8,resnet8_cifar_int8,mobilenet_v2_100_224_uint8";

  static NpuSearch of(Settings settings) throws Settings.UnknownOptionException {
    String folder = settings.text("dir", "");
    return new NpuSearch(
        folder.isEmpty() ? ConformanceData.models() : Optional.of(Path.of(folder)),
        List.of(settings.text("models", MODELS).split(",")),
        Math.toIntExact(settings.number("budget", 512)),
        settings.number("seed", 1));
  }

  void run(Figures figures) throws Exception {
    if (folder.isEmpty()) {
      figures.figure("search", "skipped, since there is no folder shared/models");
      return;
    }
    System.out.printf(
        Locale.ROOT,
        "%n%-27s %7s %11s %9s %9s %8s %7s %7s %9s%n",
        "model",
        "budget",
        "cycles",
        "millis",
        "uJ",
        "commands",
        "array%",
        "load%",
        "compile s");
    int[] budgets = {0, budget / 4, budget};
    long[] sums = new long[budgets.length];
    for (String name : models) {
      long last = Long.MAX_VALUE;
      boolean isNeverMore = true;
      for (int i = 0; i < budgets.length; i++) {
        NpuReport report = report(folder.get().resolve(name), budgets[i]);
        figures.figure(name + ".cycles.budget" + budgets[i], report.cycles());
        isNeverMore &= report.cycles() <= last;
        last = report.cycles();
        sums[i] += last;
      }
      figures.promise(name + ": more search never takes more cycles", isNeverMore);
    }
    figures.promise("a quarter of the search saves cycles", sums[1] < sums[0]);
    figures.promise("the whole search saves more", sums[2] < sums[1]);
  }

  private NpuReport report(Path directory, int tilings) throws Exception {
    NpuConfig config = NpuConfig.standard().withSearch(tilings, true, seed);
    try (NpuDevice device = new NpuDevice("0.1.0", config);
        SharedMemory file = SharedMemory.map(ModelDirectory.read(directory).model())) {
      Model model = new TfliteReader().read(file).model();
      long start = System.nanoTime();
      try (NpuPreparedModel prepared =
          (NpuPreparedModel) device.prepare(model, PrepareConfig.DEFAULT)) {
        double seconds = (System.nanoTime() - start) / 1e9;
        NpuReport report = prepared.report();
        System.out.printf(
            Locale.ROOT,
            "%-27s %7d %11d %9.3f %9.2f %8d %7.1f %7.1f %9.2f%n",
            directory.getFileName(),
            tilings,
            report.cycles(),
            report.nanos() / 1e6,
            report.joules() * 1e6,
            report.commands(),
            100.0 * report.busy().get(Engine.ARRAY) / report.cycles(),
            100.0 * report.busy().get(Engine.LOAD) / report.cycles(),
            seconds);
        return report;
      }
    }
  }
}
