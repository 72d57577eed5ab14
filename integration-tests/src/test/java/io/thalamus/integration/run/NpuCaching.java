// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.cache.FileCacheEngine;
import io.thalamus.hal.Device;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Model;
import io.thalamus.npu.NpuConfig;
import io.thalamus.npu.NpuDevice;
import io.thalamus.npu.NpuPreparedModel;
import io.thalamus.tck.caching.CacheFiles;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.vectors.ModelDirectory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The time that the accelerator takes to compile a model, to compile and store it, and to restore
 * it, by the tilings that were tried. A restored model has the cycles and the trace of the
 * original.
 *
 * @param folder of the public models; empty where they are not here
 * @param rounds of which the median counts
 */
record NpuCaching(Optional<Path> folder, List<String> models, int budget, long seed, int rounds) {
  private static final int HUNDREDS = 100;

  static NpuCaching of(NpuSearch search, Settings settings) throws Settings.UnknownOptionException {
    return new NpuCaching(
        search.folder(),
        search.models(),
        search.budget(),
        search.seed(),
        Math.toIntExact(settings.number("rounds", 5)));
  }

  void run(Figures figures) throws Exception {
    if (folder.isEmpty()) {
      figures.figure("caching", "skipped, since there is no folder shared/models");
      return;
    }
    System.out.printf(
        Locale.ROOT,
        "%n%-27s %7s %10s %10s %10s %9s%n",
        "model",
        "budget",
        "compile ms",
        "stored ms",
        "restore ms",
        "KB");
    for (String name : models) {
      for (int tilings : new int[] {0, budget}) {
        Path storage = Files.createTempDirectory("thalamus-npu-caching");
        try {
          measure(folder.get().resolve(name), tilings, storage, figures);
        } finally {
          try (Stream<Path> files = Files.walk(storage)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
              Files.delete(file);
            }
          }
        }
      }
    }
  }

  /** A trace, and a time. */
  private record Timed(String trace, long nanos) {}

  private void measure(Path directory, int tilings, Path storage, Figures figures)
      throws Exception {
    NpuConfig config = NpuConfig.standard().withSearch(tilings, true, seed);
    CacheToken token = CacheToken.of(new byte[CacheToken.SIZE]);
    try (FileCacheEngine engine =
            new FileCacheEngine(storage.resolve("engine"), "io.thalamus.npu");
        NpuDevice device = new NpuDevice("0.1.0", config, engine);
        SharedMemory file = SharedMemory.map(ModelDirectory.read(directory).model())) {
      Model model = new TfliteReader().read(file).model();
      CacheFiles files = new CacheFiles(storage.resolve("files"), device.info().cacheNeeds());
      // A search takes so long that once must do.
      int times = tilings == 0 ? rounds : 1;
      long compile = median(times, () -> compiled(device, model, PrepareConfig.DEFAULT)).nanos();
      Timed stored =
          median(times, () -> files.with(token, cached -> compiled(device, model, cached)));
      Timed restored = median(rounds, () -> files.with(token, cached -> restored(device, cached)));
      figures.promise(
          directory.getFileName() + ": restored as it was",
          stored.trace().equals(restored.trace()));
      System.out.printf(
          Locale.ROOT,
          "%-27s %7d %10.1f %10.1f %10.1f %9d%n",
          directory.getFileName(),
          tilings,
          compile / 1e6,
          stored.nanos() / 1e6,
          restored.nanos() / 1e6,
          size(storage.resolve("files")) >> 10);
      figures.figure(
          directory.getFileName() + ".restoreSpeedup.budget" + tilings,
          (double) Math.round((double) HUNDREDS * compile / restored.nanos()) / HUNDREDS);
    }
  }

  private static long size(Path files) throws java.io.IOException {
    long size = 0;
    try (Stream<Path> all = Files.list(files)) {
      for (Path file : all.toList()) {
        size += Files.size(file);
      }
    }
    return size;
  }

  /** One measurement. */
  @FunctionalInterface
  private interface Measurement {
    Timed run() throws Exception;
  }

  private static Timed median(int times, Measurement measurement) throws Exception {
    Timed[] all = new Timed[times];
    for (int i = 0; i < times; i++) {
      all[i] = measurement.run();
    }
    Arrays.sort(all, Comparator.comparingLong(Timed::nanos));
    return all[times / 2];
  }

  private static Timed compiled(Device device, Model model, PrepareConfig config) throws Exception {
    long start = System.nanoTime();
    try (NpuPreparedModel prepared = (NpuPreparedModel) device.prepare(model, config)) {
      long nanos = System.nanoTime() - start;
      return new Timed(prepared.trace(), nanos);
    }
  }

  private static Timed restored(Device device, PrepareConfig config) throws Exception {
    long start = System.nanoTime();
    try (NpuPreparedModel restored = (NpuPreparedModel) device.prepareFromCache(config)) {
      long nanos = System.nanoTime() - start;
      return new Timed(restored.trace(), nanos);
    }
  }
}
