// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The shell with its deploy folder, fed line by line without a terminal. */
class InteractiveTest {
  private static final Path START = ProjectFiles.DISTRIBUTION.resolve("bin/thalamus");
  private static final Path SIMD =
      ProjectFiles.DISTRIBUTION.resolve("devices/io.thalamus.simd.jar");
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

  @TempDir Path directory;

  private final StringBuffer seen = new StringBuffer();
  private Process shell;
  private Writer keyboard;
  private Thread reader;
  private int status;

  private void start(String... options) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(
            Stream.concat(
                    Stream.of(START.toString(), "--storage", storage().toString()),
                    Stream.of(options))
                .toList());
    builder.environment().put("THALAMUS_JAVA_HOME", System.getProperty("java.home"));
    shell = builder.directory(directory.toFile()).redirectErrorStream(true).start();
    keyboard = shell.outputWriter();
    BufferedReader screen = new BufferedReader(new InputStreamReader(shell.getInputStream()));
    reader = Thread.ofPlatform().start(() -> read(screen));
  }

  private void read(BufferedReader screen) {
    screen.lines().forEach(line -> seen.append(line).append('\n'));
  }

  private Path storage() {
    return directory.resolve("the störage");
  }

  @AfterEach
  void end() throws Exception {
    if (shell != null) {
      keyboard.close();
      assertTrue(shell.waitFor(60, TimeUnit.SECONDS), seen::toString);
      reader.join();
      assertEquals(status, shell.exitValue(), seen::toString);
    }
  }

  private void type(String line) throws IOException {
    keyboard.write(line + "\n");
    keyboard.flush();
  }

  /** Asks again and again, since nobody is informed when the folder was looked at. */
  private void await(String command, String answer) throws Exception {
    Pattern wanted = Pattern.compile(answer);
    int from = seen.length();
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!wanted.matcher(seen.substring(from)).find()) {
      String last = seen.substring(from);
      assertTrue(System.nanoTime() - end < 0, () -> command + " says no " + answer + ": " + last);
      if (!command.isEmpty()) {
        from = seen.length();
        type(command);
      }
      TimeUnit.SECONDS.sleep(1);
    }
  }

  @Test
  void aJarInTheDeployFolderIsInstalledReplacedAndRemoved() throws Exception {
    start("--with", "cpu");
    await("nn:devices --json", "\"id\":\"cpu\"");
    Path jar = storage().resolve("deploy/fast device.jar");
    Files.copy(SIMD, jar);
    await("nn:devices --json", "\"id\":\"simd\"");
    await("log info", "simd - BundleEvent STARTED");
    Files.setLastModifiedTime(
        Files.copy(SIMD, jar, StandardCopyOption.REPLACE_EXISTING),
        FileTime.fromMillis(System.currentTimeMillis() + 5000));
    await("log info", "simd - BundleEvent UPDATED");
    await("nn:devices --json", "\"id\":\"simd\"");
    Files.delete(jar);
    await("log info", "simd - BundleEvent UNINSTALLED");
  }

  @Test
  void aConfigurationReachesADeviceInAProcessOfItsOwnAtTheStartAndWhenItChanges() throws Exception {
    Path file = storage().resolve("deploy/io.thalamus.npu.config");
    Files.createDirectories(file.getParent());
    Files.writeString(file, "rows=I\"8\"\n");
    start("--with", "cpu");
    type("nn:install npu --isolated");
    await("", "installed io.thalamus.npu");
    await("inspect cap service", "rows = 8");
    Files.writeString(file, "rows=I\"4\"\nlanes=I\"16\"\n");
    FileTime written = FileTime.fromMillis(System.currentTimeMillis() + 5000);
    Files.setLastModifiedTime(file, written);
    await("inspect cap service", "rows = 4");
    assertEquals(written, Files.getLastModifiedTime(file), "nobody else writes the user's file");
    await("nn:devices", "isolated in process");
  }

  @Test
  void anUpdateThatFailsBringsBackTheDeviceThatServed() throws Exception {
    start("--with", "cpu");
    await("nn:devices --json", "\"id\":\"cpu\"");
    type("nn:update cpu '" + cpuThatImports("no.such.thing") + "'");
    String back = "; version \\S+, which was here, serves again";
    await("", "cannot be resolved: nothing here has the package no\\.such\\.thing.*" + back);
    await("nn:devices --json", "\"id\":\"cpu\"");
    type("nn:update cpu '" + cpuThatImports("org.osgi.framework") + "'");
    await("", "io\\.thalamus\\.cpu does not start: it brings no device.*" + back);
    await("nn:devices --json", "\"id\":\"cpu\"");
    String cpu = SIMD.toString().replace("simd", "cpu");
    type("nn:update cpu '" + cpu + "'");
    await("", "updated io\\.thalamus\\.cpu");
    status = 1;
  }

  /** A bundle of the name of a device that has nothing inside. */
  private Path cpuThatImports(String packages) throws IOException {
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().putValue("Manifest-Version", "1.0");
    manifest.getMainAttributes().putValue("Bundle-ManifestVersion", "2");
    manifest.getMainAttributes().putValue("Bundle-SymbolicName", "io.thalamus.cpu");
    manifest.getMainAttributes().putValue("Import-Package", packages);
    Path jar = directory.resolve(packages + ".jar");
    new JarOutputStream(Files.newOutputStream(jar), manifest).close();
    return jar;
  }

  @Test
  void aJarThatIsNoBundleIsToldInOneLine() throws Exception {
    start("--with", "cpu");
    await("nn:devices --json", "\"id\":\"cpu\"");
    Path bad = Files.writeString(storage().resolve("deploy/bad.jar"), "nothing of use");
    await("", "thalamus: " + Pattern.quote(bad.toString()) + " is no bundle: .*passed over");
    Files.copy(SIMD, bad, StandardCopyOption.REPLACE_EXISTING);
    await("nn:devices --json", "\"id\":\"simd\"");
  }

  @Test
  void aWordThatIsNoCommandIsAnsweredByThoseItCouldBe() throws Exception {
    start("--with", "cpu");
    await("nn:divices", "no command nn:divices; did you mean nn:devices\\?");
    await("frobnicate", "no command frobnicate; help lists all");
    await("nn:models", "no model is loaded");
    type("exit");
    status = 2; // of the first line that failed
  }

  @Test
  void whatWasInstalledByHandIsForgottenByTheNextProcess() throws Exception {
    Path other = directory.resolve("other simd.jar");
    Files.copy(SIMD, other);
    start("--with", "cpu");
    type("nn:install '" + other + "'");
    await("", "installed io.thalamus.simd");
    type("exit");
    assertTrue(shell.waitFor(60, TimeUnit.SECONDS));
    start();
    await("nn:devices --json", "\"id\":\"simd\"");
    await("lb -l", "devices/io.thalamus.simd.jar");
  }
}
