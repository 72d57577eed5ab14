// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.runtime.fakes.TestRuntime;
import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes that share a directory, of which some die while they write. */
class KilledWriterTest {
  private static final int KILLS = 4;

  @TempDir Path directory;

  @Test
  void aKilledWriterCostsNobodyAnythingButTime() throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("killed writers: seed = " + seed);
    Random random = new Random(seed);
    List<Process> processes = new ArrayList<>();
    try (TestRuntime runtime = TestRuntime.of(DoublingProcess.device())) {
      for (int kill = 0; kill < KILLS; kill++) {
        Process process = start(random.nextLong());
        processes.add(process);
        BufferedReader lines = process.inputReader();
        int most = 1 + random.nextInt(60);
        for (int line = 0; line < most; line++) {
          assertNotNull(lines.readLine(), "the other process ended");
          DoublingProcess.compile(runtime, directory, 1 + random.nextInt(DoublingProcess.MODELS));
        }
        process.destroyForcibly().waitFor();
        for (int model = 1; model <= DoublingProcess.MODELS; model++) {
          DoublingProcess.compile(runtime, directory, model);
        }
        // Nobody is left who writes: what the dead one held is free.
        for (int model = 1; model <= DoublingProcess.MODELS; model++) {
          assertEquals(Origin.RESTORED, DoublingProcess.compile(runtime, directory, model));
        }
      }
    } finally {
      for (Process process : processes) {
        process.destroyForcibly().waitFor();
      }
    }
  }

  private Process start(long seed) throws Exception {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-Xmx128m",
            "-cp",
            System.getProperty("java.class.path"),
            DoublingProcess.class.getName(),
            directory.toString(),
            Long.toString(seed))
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }
}
