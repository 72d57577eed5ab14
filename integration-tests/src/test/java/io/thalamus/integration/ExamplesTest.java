// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The examples, as somebody has them who took the folder and nothing else: copied out of the
 * project, built by a Maven of their own from a repository with the published artifacts, and run.
 */
@Order(4)
class ExamplesTest {
  /** The option of a JVM that is over before its second compiler has paid. */
  private static final String BRIEF = "-XX:TieredStopAtLevel=1";

  private static final Path SAMPLES = ProjectFiles.DISTRIBUTION.resolve("samples/digits");
  private static final Path MODEL = SAMPLES.resolve("digits.tflite");
  private static final Path PICTURE = SAMPLES.resolve("digit-3.png");
  private static final String ANSWER = "[3 0.973, 0 0.004, 1 0.004] on [simd]";

  @TempDir static Path repository;
  @TempDir Path directory;

  private record Outcome(int status, String out) {}

  /** The artifacts that a release has, laid out as {@code install} does. */
  @BeforeAll
  static void publish() throws IOException {
    Path bom = ProjectFiles.ROOT.resolve("cnf/bom/pom.xml");
    String version = Files.readString(bom).replaceAll("(?s).*?<version>(.*?)</version>.*", "$1");
    publish("io.thalamus.cnf", version, ProjectFiles.ROOT.resolve("cnf/pom.xml"));
    publish("io.thalamus.bom", version, bom);
    for (Path module : ProjectFiles.bundleModules().values()) {
      String name = "io.thalamus." + module.getFileName();
      publish(name, version, module.resolve("pom.xml"));
      publish(name, version, ProjectFiles.jar(module));
    }
  }

  private static void publish(String artifact, String version, Path file) throws IOException {
    Path folder = repository.resolve("io/thalamus").resolve(artifact).resolve(version);
    String suffix = file.endsWith("pom.xml") ? ".pom" : ".jar";
    Files.createDirectories(folder);
    Files.copy(file, folder.resolve(artifact + "-" + version + suffix));
  }

  private Outcome run(Path folder, List<String> words) throws IOException, InterruptedException {
    return run(folder, words, Map.of());
  }

  /** Runs a command with more options in some variables of its environment. */
  private Outcome run(Path folder, List<String> words, Map<String, String> options)
      throws IOException, InterruptedException {
    Path log = Files.createTempFile(directory, "output", ".txt");
    ProcessBuilder builder = new ProcessBuilder(words).directory(folder.toFile());
    String java = System.getProperty("java.home");
    builder.environment().put("JAVA_HOME", java);
    builder.environment().put("THALAMUS_JAVA_HOME", java);
    builder.environment().put("XDG_STATE_HOME", directory.resolve("state").toString());
    options.forEach(
        (name, more) -> builder.environment().merge(name, more, (own, added) -> own + " " + added));
    Process process = builder.redirectErrorStream(true).redirectOutput(log.toFile()).start();
    process.getOutputStream().close();
    if (!process.waitFor(10, TimeUnit.MINUTES)) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
      throw new AssertionError("does not end: " + words + "\n" + Files.readString(log));
    }
    return new Outcome(process.exitValue(), Files.readString(log));
  }

  /**
   * Runs Maven offline, with what this build has downloaded behind the artifacts. The plug-ins of
   * the examples have the versions of this build.
   */
  private Outcome maven(Path project, String... arguments) throws Exception {
    List<String> words =
        new ArrayList<>(
            List.of(
                ProjectFiles.ROOT.resolve("mvnw").toString(),
                "-B",
                "-q",
                "-o",
                "-Dmaven.repo.local=" + repository,
                "-Dmaven.repo.local.tail=" + property("thalamus.maven.repository")));
    Path settings = Path.of(property("thalamus.maven.settings"));
    if (Files.exists(settings)) {
      words.addAll(List.of("-s", settings.toString()));
    }
    words.addAll(List.of(arguments));
    // The program of an example keeps all compilers; the tests that Maven forks need one.
    String variable = words.contains("exec:exec") ? "MAVEN_OPTS" : "JAVA_TOOL_OPTIONS";
    Outcome outcome = run(project, words, Map.of(variable, BRIEF));
    assertEquals(0, outcome.status(), outcome::out);
    return outcome;
  }

  /** Returns a fact about the surrounding Maven; outside of one, its defaults. */
  private static String property(String name) {
    Path home = Path.of(System.getProperty("user.home"), ".m2");
    return System.getProperty(
        name, home.resolve(name.endsWith("settings") ? "settings.xml" : "repository").toString());
  }

  private Outcome thalamus(String commands) throws Exception {
    String start = ProjectFiles.DISTRIBUTION.resolve("bin/thalamus").toString();
    Outcome outcome = run(directory, List.of(start, "-c", commands));
    assertEquals(0, outcome.status(), outcome::out);
    return outcome;
  }

  private Path copy(String example) throws IOException {
    Path from = ProjectFiles.ROOT.resolve("docs/examples").resolve(example);
    Path to = directory.resolve(example);
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.toList()) {
        Path relative = from.relativize(file);
        if (relative.startsWith("target")) {
          continue;
        }
        Files.copy(file, to.resolve(relative.toString()));
      }
    }
    return to;
  }

  private static List<String> last(int lines, Outcome outcome) {
    List<String> all = outcome.out().lines().toList();
    return all.subList(Math.max(0, all.size() - lines), all.size());
  }

  /** The fastest device that this machine has gives the answer. */
  private static void assertAnswers(Outcome outcome) {
    String answer = last(1, outcome).getFirst();
    assertEquals(ANSWER, answer.replace("[x86]", "[simd]"), outcome::out);
  }

  @Test
  void plainClassifiesAPicture() throws Exception {
    Outcome outcome =
        maven(copy("plain"), "compile", "exec:exec", "-Dmodel=" + MODEL, "-Dpicture=" + PICTURE);
    assertAnswers(outcome);
  }

  /** The program and the dependency in the README, to the letter, in a project of their own. */
  @Test
  void theTenLinesOfTheReadmeAreAProgram() throws Exception {
    String readme = Files.readString(ProjectFiles.ROOT.resolve("README.md"));
    String lines = block("java", "import io.thalamus.embedded", readme);
    assertEquals(10, lines.lines().count());
    Path project = copy("plain");
    Path pom = project.resolve("pom.xml");
    String text = Files.readString(pom);
    String changed =
        text.replaceFirst(
                "(?s)<dependencyManagement>.*?</dependencyManagement>\\s*<dependencies>.*?</dependencies>",
                Matcher.quoteReplacement(
                    "<dependencies>" + block("xml", "<dependency>", readme) + "</dependencies>"))
            .replace("com.example.plain.Digits", "Digits")
            .replaceAll("<argument>\\$\\{(model|picture)}</argument>", "");
    assertFalse(changed.contains("io.thalamus.bom"), changed);
    Files.writeString(pom, changed);
    Files.delete(project.resolve("src/main/java/com/example/plain/Digits.java"));
    Files.writeString(project.resolve("src/main/java/Digits.java"), lines);
    Files.copy(MODEL, project.resolve("digits.tflite"));
    Files.copy(PICTURE, project.resolve("digit-3.png"));
    Outcome outcome = maven(project, "compile", "exec:exec");
    assertAnswers(outcome);
    assertTrue(readme.contains("prints `" + ANSWER + "`"));
  }

  /** Returns the code block of a language that begins with some text. */
  private static String block(String language, String start, String page) {
    String quoted = Pattern.quote(start);
    Matcher block =
        Pattern.compile("```%s\\n(%s.*?)```".formatted(language, quoted), Pattern.DOTALL)
            .matcher(page);
    assertTrue(block.find(), () -> "no " + language + " block that begins with " + start);
    return block.group(1);
  }

  /** The filter by hand: y = x - level, level += y / 2, from 0. */
  @Test
  void streamKeepsItsStateFromFrameToFrame() throws Exception {
    Outcome outcome = maven(copy("stream"), "compile", "exec:exec");
    assertEquals(
        List.of("[1.0, 8.0]", "[0.5, 4.0]", "[0.25, -6.0]", "[0.125, -3.0]", "[0.0625, -1.5]"),
        last(5, outcome),
        outcome::out);
  }

  @Test
  void osgiGetsTheNetworksInjected() throws Exception {
    Path project = copy("osgi");
    maven(project, "package");
    Outcome outcome =
        thalamus(
            "felix:start %s; example:digit %s %s"
                .formatted(project.resolve("target/osgi-1.0.0.jar").toUri(), MODEL, PICTURE));
    assertAnswers(outcome);
  }

  /** From nothing to a certificate: the commands of {@code docs/writing-a-device.md}. */
  @Test
  void aNewDeviceBringsItsKitAndIsInstalledAndCertified() throws Exception {
    Outcome written = thalamus("nn:new-device abacus work/abacus");
    assertEquals(
        List.of(
            "  mvn -f work/abacus verify",
            "  nn:install work/abacus/target/abacus-1.0.0.jar",
            "  nn:certify abacus"),
        last(3, written),
        written::out);
    Path project = directory.resolve("work/abacus");
    maven(directory, "-f", "work/abacus", "verify");
    Path report = project.resolve("target/surefire-reports/TEST-com.example.abacus.KitTest.xml");
    Matcher tests =
        Pattern.compile("<testsuite [^>]*tests=\"(\\d+)\"").matcher(Files.readString(report));
    assertTrue(tests.find());
    assertTrue(Integer.parseInt(tests.group(1)) > 100, tests::group);
    Outcome outcome =
        thalamus(
            "nn:install work/abacus/target/abacus-1.0.0.jar; nn:certify abacus --random 20"
                + " --packets 1");
    assertTrue(
        outcome
            .out()
            .matches(
                "(?s)installed abacus 1\\.0\\.0 in [^;]+; devices: [^\\n]*\\babacus\\b.*"
                    + "\\R[1-9]\\d* passed, 0 failed, \\d+ skipped\\R"),
        outcome::out);
  }

  /** The command writes the example and nothing else, under another name. */
  @Test
  void theExampleIsWhatTheCommandWrites() throws Exception {
    thalamus("nn:new-device template %s".formatted(directory.resolve("written")));
    Path example = copy("device");
    assertEquals(texts(example), texts(directory.resolve("written")));
  }

  private static Map<String, String> texts(Path folder) throws IOException {
    Map<String, String> texts = new TreeMap<>();
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        texts.put(folder.relativize(file).toString(), Files.readString(file));
      }
    }
    return texts;
  }
}
