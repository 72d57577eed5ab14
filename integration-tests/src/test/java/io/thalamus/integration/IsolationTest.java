// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The process of an isolated device, over the distribution. */
class IsolationTest {
  private static final long PATIENCE_SECONDS = 60;

  @TempDir Path storage;

  private Process start(String text) throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(
            ProjectFiles.DISTRIBUTION.resolve("bin/thalamus").toString(),
            "--storage",
            storage.toString(),
            "--with",
            "cpu",
            "-c",
            text);
    builder.environment().put("THALAMUS_JAVA_HOME", System.getProperty("java.home"));
    return builder.redirectErrorStream(true).start();
  }

  /** Returns the folder of a device's process, which its command line ends with. */
  private static Path folder(ProcessHandle process) {
    List<String> arguments = List.of(process.info().arguments().orElseThrow());
    return Path.of(arguments.getLast()).getParent();
  }

  @Test
  void itEndsWithItsContainerHoweverThatEnds() throws Exception {
    Process container = start("nn:install simd --isolated; nn:bench " + digits() + " --seconds 60");
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(container.getInputStream()))) {
      String line = lines.readLine();
      while (line != null && !line.startsWith("installed io.thalamus.simd")) {
        line = lines.readLine();
      }
      assertNotNull(line, "nothing was installed");
      ProcessHandle process = container.toHandle().children().findFirst().orElseThrow();
      Path folder = folder(process);
      assertEquals(
          "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)));
      assertFalse(Files.exists(folder.resolve("socket")), "the socket stays open to others");
      container.destroyForcibly();
      process.onExit().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      assertFalse(Files.exists(folder), "it leaves files");
    } finally {
      container.destroyForcibly();
    }
  }

  private static Path digits() {
    return ProjectFiles.DISTRIBUTION.resolve("samples/digits/digits.tflite");
  }

  @Test
  void aDeviceIsTheSameInAProcessOfItsOwn() throws Exception {
    String digit = ProjectFiles.DISTRIBUTION.resolve("samples/digits/digit-3.png").toString();
    Process container =
        start(
            "nn:install simd --isolated; nn:devices; nn:run %s %s; nn:uninstall simd; nn:devices"
                .formatted(digits(), digit));
    String out = new String(container.getInputStream().readAllBytes());
    assertTrue(container.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS));
    assertEquals(0, container.exitValue(), out);
    assertTrue(out.contains("isolated in process"), out);
    assertTrue(out.contains("on simd"), out);
    assertTrue(out.contains("uninstalled io.thalamus.simd"), out);
  }

  @Test
  void machineCodeRunsInAProcessOfItsOwn() throws Exception {
    assumeTrue(
        System.getProperty("os.name").equals("Linux")
            && System.getProperty("os.arch").equals("amd64"),
        "x86 needs Linux on x86-64");
    assumeTrue(
        Files.readString(Path.of("/proc/cpuinfo")).contains(" avx2 "), "x86 needs AVX2 and FMA");
    Process container = start("nn:install x86 --isolated; nn:devices; nn:uninstall x86");
    String out = new String(container.getInputStream().readAllBytes());
    assertTrue(container.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS));
    assertEquals(0, container.exitValue(), out);
    assertTrue(out.contains("isolated in process"), out);
    assertTrue(out.contains("uninstalled io.thalamus.x86"), out);
  }
}
