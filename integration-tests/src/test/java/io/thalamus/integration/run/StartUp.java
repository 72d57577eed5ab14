// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The time that one command takes from the start script to the end of the process. */
final class StartUp implements Proof {
  private static final double MILLION = 1e6;

  @Override
  public String name() {
    return "startup";
  }

  @Override
  public String purpose() {
    return "wall time of whole one-shot processes (--runs 20 --command 'lb' --start FILE)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    int runs = Math.toIntExact(settings.number("runs", 20));
    String command = settings.text("command", "lb");
    Path start =
        Path.of(System.getProperty("thalamus.root"))
            .resolve(settings.text("start", "launcher/target/thalamus/bin/thalamus"));
    settings.end();
    double[] millis = new double[runs];
    int failed = 0;
    for (int i = -1; i < runs; i++) {
      long from = System.nanoTime();
      int status =
          new ProcessBuilder(List.of(start.toString(), "-c", command))
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start()
              .waitFor();
      failed += status == 0 ? 0 : 1;
      if (i >= 0) { // the first one fills the bundle cache
        millis[i] = (System.nanoTime() - from) / MILLION;
      }
    }
    Arrays.sort(millis);
    figures.figure("runs", runs);
    figures.figure("failed", failed);
    figures.figure("minMillis", format(millis[0]));
    figures.figure("medianMillis", format(millis[runs / 2]));
    figures.figure("maxMillis", format(millis[runs - 1]));
    figures.promise("every process ends with status 0", failed == 0);
  }

  private static String format(double millis) {
    return String.format(Locale.ROOT, "%.0f", millis);
  }
}
