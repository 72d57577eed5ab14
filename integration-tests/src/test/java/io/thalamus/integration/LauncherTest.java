// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The distribution, started as a user starts it. */
@Order(1)
class LauncherTest {
  private static final Path START = ProjectFiles.DISTRIBUTION.resolve("bin/thalamus");

  private static final Set<String> IDLE = Set.of("Installed", "Resolved");

  @TempDir Path directory;

  private record Outcome(int status, String out, String err) {}

  private Process start(Path command, Map<String, String> environment, String... arguments)
      throws IOException {
    return builder(command, environment, arguments).start();
  }

  private ProcessBuilder builder(
      Path command, Map<String, String> environment, String... arguments) {
    List<String> words = new ArrayList<>(List.of(command.toString()));
    words.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(words).directory(directory.toFile());
    builder.environment().put("XDG_STATE_HOME", directory.resolve("state").toString());
    // The tests' own JVM is one that will do.
    builder.environment().put("THALAMUS_JAVA_HOME", System.getProperty("java.home"));
    builder.environment().putAll(environment);
    return builder;
  }

  private static Outcome outcome(Process process) throws IOException, InterruptedException {
    process.getOutputStream().close();
    String out = new String(process.getInputStream().readAllBytes());
    String err = new String(process.getErrorStream().readAllBytes());
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    return new Outcome(process.exitValue(), out, err);
  }

  private Outcome run(String... arguments) throws IOException, InterruptedException {
    return outcome(start(START, Map.of(), arguments));
  }

  @Test
  void theContainerRunsExactlyTheResolvedBundles() throws Exception {
    Map<String, String> resolved =
        ProjectFiles.runBundles(ProjectFiles.ROOT.resolve("launcher/thalamus.bndrun"));
    Outcome outcome = run("--with", "cpu,simd,npu,x86", "-c", "lb -s");
    assertEquals(0, outcome.status(), outcome::err);
    Map<String, String> running = new TreeMap<>();
    for (String line : outcome.out().lines().toList()) {
      String[] cells = line.strip().split("\\s*\\|\\s*");
      if (cells.length == 5 && cells[0].matches("[1-9]\\d*")) {
        running.put(cells[3].replaceFirst(" \\(.*", ""), cells[1]);
      }
    }
    assertEquals(resolved.keySet(), running.keySet());
    Set<String> wrong = new TreeSet<>();
    running.forEach(
        (name, state) -> {
          boolean shellOnly = !resolved.get(name).contains("startlevel=10");
          if (!state.equals("Active") && !(shellOnly && IDLE.contains(state))) {
            wrong.add(name + " " + state);
          }
        });
    assertEquals(Set.of(), wrong);
    assertEquals("", outcome.err());
  }

  @Test
  void versionAndHelpNeedNoContainer() throws Exception {
    Outcome version = run("--version");
    assertEquals(0, version.status());
    assertTrue(version.out().startsWith("thalamus "), version::out);
    assertEquals(0, run("--help").status());
    assertFalse(Files.exists(directory.resolve("state")));
  }

  @Test
  void wrongUsageIsOneLineAndStatusTwo() throws Exception {
    for (String[] words :
        new String[][] {
          {"--no-such-option"},
          {"-c"},
          {"--storage"},
          {"--with", "abacus", "devices"},
          {"-c", "lb", "-f", "x"},
          {"no-such-command"},
          {"-c", "nn:no-such-command"},
          {"-c", "lb 'open"},
          {"--json", "--rebuild"}
        }) {
      Outcome outcome = run(words);
      String what = String.join(" ", words) + ": " + outcome;
      assertEquals(2, outcome.status(), what);
      assertEquals("", outcome.out(), what);
      assertEquals(1, outcome.err().lines().count(), what);
      assertTrue(outcome.err().startsWith("thalamus: "), what);
    }
  }

  @Test
  void aPlanAsksADeviceThatIsNotInstalled() throws Exception {
    String digits = ProjectFiles.DISTRIBUTION.resolve("samples/digits/digits.tflite").toString();
    Outcome outcome = run("-c", "nn:plan " + digits + " --what-if '+npu,-simd'; nn:devices");
    assertEquals(0, outcome.status(), outcome::err);
    assertTrue(outcome.out().contains("npu"), outcome::out);
    String devices = outcome.out().substring(outcome.out().indexOf("\nid "));
    assertFalse(devices.contains("npu"), devices);
    Outcome missing = run("plan", digits, "--what-if", "+gpu");
    assertEquals(1, missing.status());
    assertTrue(missing.err().contains("it has: cpu, npu, simd, x86"), missing::err);
    assertEquals(1, missing.err().lines().count(), missing::err);
  }

  @Test
  void severalProcessesShareOneStorage() throws Exception {
    for (int round = 0; round < 2; round++) {
      List<Process> processes = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        processes.add(start(START, Map.of(), "-c", "lb -s"));
      }
      for (Process process : processes) {
        Outcome outcome = outcome(process);
        assertEquals(0, outcome.status(), outcome::err);
        assertTrue(outcome.out().contains("io.thalamus.runtime"), outcome::out);
      }
    }
  }

  @Test
  void aHomeThatCannotBeWrittenIsNoObstacle() throws Exception {
    Path file = Files.writeString(directory.resolve("a-file"), "");
    Outcome outcome = run("--storage", file.resolve("below").toString(), "-c", "lb -s");
    assertEquals(0, outcome.status(), outcome::err);
    assertTrue(outcome.out().contains("io.thalamus.runtime"), outcome::out);
  }

  @Test
  void aShellWithoutADeployFolderSaysSoOnce() throws Exception {
    Path file = Files.writeString(directory.resolve("a-file"), "");
    Process process = start(START, Map.of(), "--storage", file.resolve("below").toString());
    process.getOutputStream().write("nn:devices\n".getBytes());
    Outcome outcome = outcome(process);
    assertEquals(0, outcome.status(), outcome::err);
    assertTrue(outcome.out().contains("cpu "), outcome::out);
    assertEquals(
        "thalamus: no devices are installed from "
            + file
            + "/below/deploy, which cannot be made: Not a directory\n",
        outcome.err());
  }

  @Test
  void aStorageThatTakesALockAndNoBundlesIsNoObstacle() throws Exception {
    Path storage = directory.resolve("s");
    assertEquals(0, run("--storage", storage.toString(), "-c", "lb").status());
    Path cache;
    try (Stream<Path> files = Files.walk(storage)) {
      cache = files.filter(file -> file.endsWith("0/cache")).findFirst().orElseThrow();
    }
    // Nothing can be made in this folder, as on a disk without room.
    Files.move(cache.getParent(), directory.resolve("away"));
    Files.createSymbolicLink(cache.getParent(), Path.of("/proc/self/task"));
    for (String command : List.of("devices", "doctor")) {
      Outcome outcome = run("--storage", storage.toString(), command);
      assertTrue(outcome.out().contains("simd"), outcome::toString);
      assertTrue(outcome.err().contains("cannot be written"), outcome::err);
      assertEquals(1, outcome.err().lines().count(), outcome::err);
    }
  }

  @Test
  void aBundleCacheOfAnotherDistributionIsFilledAnew() throws Exception {
    String storage = directory.resolve("s").toString();
    assertEquals(0, run("--storage", storage, "-c", "lb").status());
    List<Path> stamps;
    try (Stream<Path> files = Files.walk(Path.of(storage))) {
      stamps = files.filter(file -> file.endsWith("filled-from")).toList();
    }
    assertEquals(1, stamps.size());
    String stamp = Files.readString(stamps.getFirst());
    Files.writeString(stamps.getFirst(), "another distribution");
    Outcome outcome = run("--storage", storage, "-c", "lb");
    assertEquals(0, outcome.status(), outcome::err);
    assertEquals(stamp, Files.readString(stamps.getFirst()));
  }

  @Test
  void theBundleCacheOfADistributionThatIsNoMoreGoes() throws Exception {
    Path copy = copyOfTheDistribution();
    String storage = directory.resolve("s").toString();
    Path start = copy.resolve("bin/thalamus");
    assertEquals(0, outcome(start(start, Map.of(), "--storage", storage, "-c", "lb")).status());
    Path caches = Path.of(storage, "framework");
    assertEquals(1, caches.toFile().list().length);
    Files.move(copy, directory.resolve("moved away"));
    assertEquals(0, run("--storage", storage, "-c", "lb").status());
    assertEquals(1, caches.toFile().list().length);
  }

  @Test
  void withoutTheVectorModuleOneLineSaysSoAndTheRestWorks() throws Exception {
    Path digits = ProjectFiles.DISTRIBUTION.resolve("samples/digits");
    Outcome outcome =
        withoutVectorModule(
            "--with",
            "cpu,simd",
            "--json",
            "run",
            digits.resolve("digits.tflite").toString(),
            digits.resolve("digit-3.png").toString());
    assertEquals(0, outcome.status(), outcome::err);
    assertTrue(outcome.out().startsWith("{\"model\":"), outcome::out);
    assertTrue(outcome.out().contains("\"ranOn\":{\"cpu\":9}"), outcome::out);
    assertEquals(
        "thalamus: io.thalamus.simd does not start: nothing here has the package"
            + " jdk.incubator.vector; the JVM wants --add-modules=jdk.incubator.vector\n",
        outcome.err());
    Outcome install = withoutVectorModule("install", "simd");
    assertEquals(1, install.status(), install::out);
    assertEquals(
        "thalamus: io.thalamus.simd cannot be resolved: nothing here has the package"
            + " jdk.incubator.vector; start the JVM with --add-modules=jdk.incubator.vector",
        install.err().lines().toList().getLast());
    Outcome doctor = withoutVectorModule("doctor");
    assertTrue(doctor.out().contains("broken   bundles"), doctor::out);
  }

  private Outcome withoutVectorModule(String... arguments) throws Exception {
    List<String> words =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin/java").toString(),
                "--sun-misc-unsafe-memory-access=allow",
                "-Dthalamus.home=" + ProjectFiles.DISTRIBUTION,
                "-jar",
                ProjectFiles.DISTRIBUTION.resolve("bin/launcher.jar").toString(),
                "--storage",
                directory.resolve("s").toString()));
    words.addAll(List.of(arguments));
    return outcome(new ProcessBuilder(words).start());
  }

  @Test
  void aDamagedBundleCacheCostsOnlyTime() throws Exception {
    String storage = directory.resolve("s").toString();
    assertEquals(0, run("--storage", storage, "-c", "lb").status());
    List<Path> records;
    try (Stream<Path> files = Files.walk(Path.of(storage))) {
      records = files.filter(file -> file.endsWith("bundle.info")).toList();
    }
    assertFalse(records.isEmpty());
    for (Path file : records) {
      Files.writeString(file, "\u0000garbage");
    }
    Outcome outcome = run("--storage", storage, "-c", "lb -s");
    assertEquals(0, outcome.status(), outcome::err);
    assertTrue(outcome.out().contains("io.thalamus.runtime"), outcome::out);
  }

  @Test
  void anArchiveOfClassesThatIsDamagedCostsOnlyTime() throws Exception {
    Path copy = copyOfTheDistribution();
    Files.writeString(copy.resolve("bin/classes.jsa"), "no archive");
    Outcome outcome = outcome(start(copy.resolve("bin/thalamus"), Map.of(), "-c", "lb -s"));
    assertEquals(0, outcome.status(), outcome::err);
    assertEquals("", outcome.err());
  }

  /** As {@code cp -r} makes it: each file as of now. */
  @Test
  void aPlainCopyStillTakesTheArchiveOfClasses() throws Exception {
    Path copy = copyOfTheDistribution();
    try (Stream<Path> files = Files.walk(copy)) {
      FileTime now = FileTime.from(Instant.now());
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Files.setLastModifiedTime(file, now);
      }
    }
    for (Path home : List.of(ProjectFiles.DISTRIBUTION, copy)) {
      Path log = Files.createTempFile(directory, "classes", ".log");
      Map<String, String> logged = Map.of("THALAMUS_JAVA_OPTIONS", "-Xlog:class+load:file=" + log);
      Outcome outcome = outcome(start(home.resolve("bin/thalamus"), logged, "-c", "lb -s"));
      assertEquals(0, outcome.status(), outcome::err);
      assertTrue(
          Files.readString(log)
              .contains("io.thalamus.launcher.Main source: shared objects file (top)"),
          home + " does not take its archive of classes");
    }
  }

  private Path copyOfTheDistribution() throws IOException {
    Path copy = directory.resolve("copy of it");
    try (Stream<Path> files = Files.walk(ProjectFiles.DISTRIBUTION)) {
      for (Path file : files.toList()) {
        Path target = copy.resolve(ProjectFiles.DISTRIBUTION.relativize(file).toString());
        if (Files.isDirectory(file)) {
          Files.createDirectories(target);
        } else {
          Files.copy(file, target, StandardCopyOption.COPY_ATTRIBUTES);
        }
      }
    }
    return copy;
  }

  @Test
  void theIncubatorsWarningIsNotShownAndOurErrorsAre() throws Exception {
    Path copy = copyOfTheDistribution();
    Path start = copy.resolve("bin/thalamus");
    Outcome outcome = outcome(start(start, Map.of(), "-c", "lb -s"));
    assertEquals(0, outcome.status(), outcome::err);
    assertEquals("", outcome.err());
    outcome = outcome(start(start, Map.of(), "no-such-command"));
    assertEquals(2, outcome.status());
    assertTrue(outcome.err().startsWith("thalamus: no command"), outcome::err);
  }

  @Test
  void aDirectoryThatIsNoJdkIsNamed() throws Exception {
    Outcome outcome =
        outcome(start(START, Map.of("THALAMUS_JAVA_HOME", directory.toString()), "--version"));
    assertEquals(1, outcome.status());
    assertEquals(
        "thalamus: THALAMUS_JAVA_HOME=" + directory + " is not a JDK 25 or later\n", outcome.err());
  }

  @Test
  void aResultThatIsLostIsAFailure() throws Exception {
    Path full = Path.of("/dev/full");
    assumeTrue(Files.exists(full));
    for (String[] words : new String[][] {{"devices"}, {"--json", "devices"}, {"--version"}}) {
      Process process = builder(START, Map.of(), words).redirectOutput(full.toFile()).start();
      Outcome outcome = outcome(process);
      assertEquals(1, outcome.status(), outcome::toString);
      assertEquals(
          "thalamus: standard output cannot be written: No space left on device\n", outcome.err());
    }
  }

  @Test
  void theHomeOfTheEnvironmentIsTheUsers() throws Exception {
    Path home = Files.createDirectory(directory.resolve("my home"));
    Map<String, String> environment = Map.of("HOME", home.toString(), "XDG_STATE_HOME", "");
    Outcome outcome =
        outcome(start(START, environment, "--with", "cpu", "-c", "nn:cache; nn:info ~/none"));
    assertTrue(outcome.out().contains(home + "/.local/state/thalamus/cache"), outcome::out);
    assertEquals("thalamus: there is no file " + home + "/none\n", outcome.err());
  }

  @Test
  void aStartThatFailsEndsTheProcess() throws Exception {
    String few = "ulimit -n 20; exec \"$0\" devices";
    Outcome outcome = outcome(start(Path.of("/bin/sh"), Map.of(), "-c", few, START.toString()));
    assertEquals(1, outcome.status(), outcome::toString);
    assertFalse(outcome.err().contains("\tat "), outcome::err);
  }

  @Test
  void theShellEndsOnExitAndAtTheEndOfItsInput() throws Exception {
    for (String typed : List.of("lb -s\nexit\n", "lb -s\n", "lb -s\nquit\n")) {
      Process shell = start(START, Map.of());
      shell.getOutputStream().write(typed.getBytes());
      Outcome outcome = outcome(shell);
      assertEquals(0, outcome.status(), outcome::err);
      assertTrue(outcome.out().contains("io.thalamus.runtime"), outcome::out);
      assertEquals("", outcome.err());
    }
  }

  @Test
  void aScriptOnStandardInputEndsWithTheStatusOfItsFirstFailure() throws Exception {
    Process shell = start(START, Map.of(), "--with", "cpu");
    shell
        .getOutputStream()
        .write("nn:info none\nnn:divices\nnn:devices > list\ncat list | grep cpu\n".getBytes());
    Outcome outcome = outcome(shell);
    assertEquals(1, outcome.status(), outcome::toString);
    assertEquals(2, outcome.err().lines().count(), outcome::err);
    assertEquals(1, outcome.out().lines().count(), outcome::out);
    assertTrue(outcome.out().startsWith("cpu "), outcome::out);
  }

  @Test
  void timingGoesToStandardErrorOnly() throws Exception {
    Outcome outcome = run("--timing", "-c", "lb -s");
    assertEquals(0, outcome.status());
    assertTrue(outcome.err().lines().allMatch(line -> line.startsWith("timing: ")), outcome::err);
    assertTrue(outcome.err().contains("total"), outcome::err);
    assertFalse(outcome.out().contains("timing"), outcome::out);
  }
}
