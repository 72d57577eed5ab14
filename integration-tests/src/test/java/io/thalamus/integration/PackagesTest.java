// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packages with a Java runtime of their own, used where no other Java is to be found. */
class PackagesTest {
  private static final Path FOLDER = ProjectFiles.ROOT.resolve("launcher/packages");

  @TempDir static Path directory;

  private static Path packages;

  private record Outcome(int status, String out, String err) {}

  private static Outcome run(Map<String, String> environment, Path... words) throws Exception {
    Path err = Files.createTempFile(directory, "err", ".txt");
    ProcessBuilder builder =
        new ProcessBuilder(Stream.of(words).map(Path::toString).toList())
            .directory(directory.toFile())
            .redirectError(err.toFile());
    builder.environment().clear();
    builder.environment().put("PATH", "/usr/bin:/bin");
    builder.environment().put("XDG_STATE_HOME", directory.resolve("state").toString());
    builder.environment().putAll(environment);
    Process process = builder.start();
    process.getOutputStream().close();
    String out = new String(process.getInputStream().readAllBytes());
    assertTrue(process.waitFor(300, TimeUnit.SECONDS));
    return new Outcome(process.exitValue(), out, Files.readString(err));
  }

  @BeforeAll
  static void makeThem() throws Exception {
    packages = directory.resolve("packages");
    Outcome made =
        run(
            Map.of("THALAMUS_JAVA_HOME", System.getProperty("java.home")),
            FOLDER.resolve("make"),
            ProjectFiles.DISTRIBUTION,
            packages);
    assertEquals(0, made.status(), made::err);
  }

  private static void assertRuns(Path home) throws Exception {
    Path start = home.resolve("bin/thalamus");
    Path samples = home.resolve("samples/digits");
    Outcome digit =
        run(
            Map.of(),
            start,
            Path.of("run"),
            samples.resolve("digits.tflite"),
            samples.resolve("digit-3.png"));
    assertEquals(0, digit.status(), digit::err);
    assertTrue(digit.out().startsWith("3 "), digit::out);
    assertTrue(digit.out().matches("(?s).* on (x86|simd)\\s*"), digit::out);
    Outcome doctor = run(Map.of(), start, Path.of("doctor"));
    assertTrue(doctor.out().contains(home.resolve("runtime").toString()), doctor::out);
  }

  /** The JVM takes the archive of classes only with jars of the times that it saw. */
  private static void assertHasTimesOfTheFolder(Path home) throws IOException {
    for (String jar : List.of("bin/launcher.jar", "bin/framework.jar")) {
      assertEquals(
          Files.getLastModifiedTime(packages.resolve("thalamus").resolve(jar)),
          Files.getLastModifiedTime(home.resolve(jar)),
          jar);
    }
  }

  @Test
  void theFolderRunsWithItsOwnRuntime() throws Exception {
    assertRuns(packages.resolve("thalamus"));
  }

  @Test
  void theDebianPackageHasTheSameFolder() throws Exception {
    List<Path> debs;
    try (Stream<Path> files = Files.list(packages)) {
      debs = files.filter(file -> file.toString().endsWith(".deb")).toList();
    }
    assumeTrue(Files.exists(Path.of("/usr/bin/dpkg-deb")), "there is no dpkg-deb");
    assertEquals(1, debs.size());
    Path root = directory.resolve("root");
    Outcome unpacked = run(Map.of(), Path.of("dpkg-deb"), Path.of("-x"), debs.getFirst(), root);
    assertEquals(0, unpacked.status(), unpacked::err);
    assertEquals(
        Path.of("/opt/thalamus/bin/thalamus"),
        Files.readSymbolicLink(root.resolve("usr/bin/thalamus")));
    assertHasTimesOfTheFolder(root.resolve("opt/thalamus"));
    assertRuns(root.resolve("opt/thalamus"));
  }

  @Test
  void theContextOfTheImageHasWhatItsRecipeCopies() throws IOException {
    Path image = packages.resolve("image");
    String recipe = Files.readString(image.resolve("Containerfile"));
    List<String> copied =
        Pattern.compile("(?m)^COPY (\\S+) ")
            .matcher(recipe)
            .results()
            .map((MatchResult line) -> line.group(1))
            .toList();
    assertEquals(List.of("thalamus"), copied);
    assertTrue(Files.isExecutable(image.resolve("thalamus/bin/thalamus")));
    assertTrue(Files.isExecutable(image.resolve("thalamus/runtime/bin/java")));
    assertHasTimesOfTheFolder(image.resolve("thalamus"));
  }

  @Test
  void aDistributionThatIsNotThereIsNamed() throws Exception {
    Outcome outcome =
        run(Map.of(), FOLDER.resolve("make"), directory.resolve("nowhere"), directory.resolve("x"));
    assertEquals(1, outcome.status());
    assertEquals(1, outcome.err().lines().count(), outcome::err);
    assertTrue(outcome.err().contains(directory.resolve("nowhere").toString()), outcome::err);
  }
}
