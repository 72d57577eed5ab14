// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import java.nio.file.Path;

/** The claims of the simulated accelerator, beside published figures. */
final class Npu implements Proof {
  private static final String PUBLISHED =
      "backends/npu/src/test/resources/io/thalamus/npu/timing/scale-sim.csv";

  @Override
  public String name() {
    return "npu";
  }

  @Override
  public String purpose() {
    return "the accelerator's cycles beside those of two simulators, by search, by burst, and"
        + " out of a cache (--cycles FILE --tilings 32 --models LIST --dir DIR"
        + " --budget 512 --seed 1 --rounds 5)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    String file = settings.text("cycles", PUBLISHED);
    int tilings = Math.toIntExact(settings.number("tilings", 32));
    NpuSearch search = NpuSearch.of(settings);
    NpuCaching caching = NpuCaching.of(search, settings);
    settings.end();
    Path root = Path.of(System.getProperty("thalamus.root"));
    NpuCompiled.run(NpuCycles.run(root.resolve(file), figures), tilings, figures);
    search.run(figures);
    new NpuBursts(search, 1, 30, 905, 5000).run(figures);
    caching.run(figures);
  }
}
