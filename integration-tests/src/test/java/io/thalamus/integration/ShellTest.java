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
import java.util.concurrent.TimeUnit;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The commands of the shell in the distribution, on the model that comes with it. */
@Order(2)
class ShellTest {
  private static final Path DIGITS = ProjectFiles.DISTRIBUTION.resolve("samples/digits");

  /** Of most commands: the first of a storage takes twice as long as the others. */
  @TempDir static Path shared;

  @TempDir Path directory;

  private Path storage = shared;

  private record Outcome(int status, String out, String err) {}

  private Outcome run(String... arguments) throws IOException, InterruptedException {
    return started(Stream.concat(Stream.of("--with", "cpu"), Stream.of(arguments)));
  }

  private Outcome started(Stream<String> arguments) throws IOException, InterruptedException {
    List<String> words = new ArrayList<>();
    words.add(ProjectFiles.DISTRIBUTION.resolve("bin/thalamus").toString());
    words.addAll(List.of("--storage", storage.toString()));
    words.addAll(arguments.toList());
    ProcessBuilder builder = new ProcessBuilder(words).directory(directory.toFile());
    builder.environment().put("THALAMUS_JAVA_HOME", System.getProperty("java.home"));
    builder.environment().remove("COLUMNS");
    Process process = builder.start();
    process.getOutputStream().close();
    String out = new String(process.getInputStream().readAllBytes());
    String err = new String(process.getErrorStream().readAllBytes());
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    return new Outcome(process.exitValue(), out, err);
  }

  private static String digits(String file) {
    return DIGITS.resolve(file).toString();
  }

  @Test
  void redirectedResultsHoldNoColoursAndJsonIsOneLine() throws Exception {
    Outcome text = run("run", digits("digits.tflite"), digits("digit-3.png"));
    assertEquals(0, text.status(), text::err);
    assertTrue(!text.out().contains("\u001b"), text::out);
    assertTrue(text.out().lines().findFirst().orElseThrow().startsWith("3 "), text::out);
    Outcome json = run("--json", "run", digits("digits.tflite"), digits("digit-3.png"));
    assertEquals(0, json.status(), json::err);
    assertEquals(1, json.out().lines().count(), json::out);
    assertTrue(json.out().startsWith("{\"model\":"), json::out);
    assertEquals("", json.err());
  }

  /** Tools that look for a line are to find all of a row. */
  @Test
  void rowsAreNotWrappedInPipes() throws Exception {
    storage = directory.resolve("s".repeat(100));
    String row = "/" + storage.getFileName() + " can be written\n";
    Outcome command = run("doctor");
    assertTrue(command.out().contains(row), command::out);
    Outcome piped = run("-c", "COLUMNS = 60; nn:doctor | grep storage");
    assertTrue(piped.out().endsWith(row), piped::out);
    Outcome wide = run("-c", "COLUMNS = 60; nn:doctor");
    assertFalse(wide.out().contains(row), "somebody wants 60 columns");
  }

  @Test
  void filesAreSoughtWhereTheCommandIsGiven() throws Exception {
    Files.copy(DIGITS.resolve("digit-3.png"), directory.resolve("a digit.png"));
    Outcome outcome = run("run", digits("digits.tflite"), "a digit.png", "--output", "scores.json");
    assertEquals(0, outcome.status(), outcome::err);
    assertTrue(Files.readString(directory.resolve("scores.json")).startsWith("[["));
  }

  @Test
  void failuresAreOneLineAndAStatus() throws Exception {
    Path broken = Files.writeString(directory.resolve("broken.tflite"), "no model at all");
    Outcome failed = run("info", broken.toString());
    assertEquals(1, failed.status());
    assertEquals(1, failed.err().lines().count(), failed::err);
    assertTrue(failed.err().startsWith("thalamus: "), failed::err);
    Outcome usage = run("info", "--no-such-option");
    assertEquals(2, usage.status());
    assertEquals(
        "thalamus: nn:info: unknown option --no-such-option; usage: nn:info MODEL [--svg FILE]"
            + " [--shape [INPUT=]1x224x224x3]... [--signature NAME] [--hybrid]"
            + " [--json]\n",
        usage.err());
  }

  @ParameterizedTest
  @ValueSource(strings = {">> $1 2>&1", "> $1 2>> $1", ">> $1 2> $1.err"})
  void messagesDoNotOverwriteWhatIsInAFileAlready(String redirection) throws Exception {
    Path log = directory.resolve("log");
    String thalamus = ProjectFiles.DISTRIBUTION.resolve("bin/thalamus").toString();
    String once = "\"$0\" --storage \"$1.storage\" nosuch%d " + redirection;
    String script = once.formatted(1) + "; " + once.replace("> $1.err", ">> $1.err").formatted(2);
    Process process =
        new ProcessBuilder("sh", "-c", script, thalamus, log.toString()).inheritIO().start();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    Path messages = redirection.contains(".err") ? directory.resolve("log.err") : log;
    List<String> lines = Files.readAllLines(messages);
    boolean firstWasTruncated = redirection.startsWith("> ");
    assertEquals(firstWasTruncated ? 1 : 2, lines.size(), lines::toString);
    assertTrue(lines.getLast().startsWith("thalamus: no command nosuch2"), lines::toString);
  }

  @Test
  void helpSaysWhatEachCommandDoes() throws Exception {
    Outcome all = run("help");
    assertEquals(0, all.status(), all::err);
    assertTrue(
        all.out().lines().anyMatch(line -> line.matches("devices +the devices .*")), all::out);
    assertTrue(all.out().lines().anyMatch(line -> line.startsWith("felix:")), all::out);
    assertTrue(run("help", "run").out().startsWith("nn:run MODEL"), all::out);
    assertEquals(2, run("help", "nosuch").status());
  }

  @Test
  void theTourShowsWhatItSays() throws Exception {
    Process process =
        new ProcessBuilder(
                ProjectFiles.DISTRIBUTION.resolve("bin/thalamus").toString(),
                "--storage",
                directory.resolve("storage").toString(),
                "--with",
                "cpu",
                "-f",
                "launcher/samples/tour.gogo")
            .directory(ProjectFiles.ROOT.toFile())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String out = new String(process.getInputStream().readAllBytes());
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, process.exitValue(), out);
    List<String> lines = out.lines().toList();
    Map<Integer, String> ranOn = Map.of(3, "cpu", 7, "simd", 8, "simd", 9, "cpu");
    ranOn.forEach(
        (digit, device) -> {
          int command = lines.indexOf("> nn:run digits digit-" + digit + ".png --top 2");
          assertTrue(command >= 0, out);
          assertTrue(lines.get(command + 1).startsWith(digit + " "), lines.get(command + 1));
          String where = lines.get(command + 4);
          assertTrue(where.endsWith(": 9 operations on " + device), where);
        });
    assertTrue(out.contains("installed io.thalamus.simd"), out);
    assertTrue(out.contains("updated io.thalamus.simd"), out);
    assertTrue(out.contains("uninstalled io.thalamus.simd"), out);
  }

  @Test
  void tabOffersWhatFitsThePlaceOnTheLine() throws Exception {
    Outcome words = run("-c", "_nn:candidates [nn:run digits --priority h] 3");
    assertEquals(List.of("low", "medium", "high"), words.out().strip().lines().toList());
    Outcome devices = run("-c", "_nn:candidates [nn:uninstall c] 1");
    assertEquals("cpu", devices.out().strip());
    Outcome models =
        run("-c", "nn:load '" + digits("digits.tflite") + "'; _nn:candidates [nn:unload d] 1");
    assertTrue(models.out().strip().endsWith("digits"), models::out);
  }

  @Test
  void aFailedVerificationShowsWhatFailed() throws Exception {
    Files.writeString(
        directory.resolve("wrong.json"),
        """
        {"format": "nnapi-vectors-1", "spec": "relu.mod.py", "specVersion": "V1_0",
         "source": {"repo": "r", "commit": "c", "path": "p"}, "pool": {},
         "examples": [{"name": "wrong", "modelName": null, "exampleName": null,
           "variations": [], "halVersion": "V1_0", "isRelaxed": false, "expectFailure": false,
           "multinomialTolerance": 0, "referenced": [],
           "main": {
             "operands": [
               {"name": "a", "type": "TENSOR_FLOAT32", "dims": [1, 2], "lifetime": "SUBGRAPH_INPUT",
                "consumers": 1},
               {"name": "b", "type": "TENSOR_FLOAT32", "dims": [1, 2],
                "lifetime": "SUBGRAPH_OUTPUT", "consumers": 0}],
             "operations": [{"type": "RELU", "inputs": [0], "outputs": [1]}],
             "inputIndexes": [0], "outputIndexes": [1]},
           "inputs": [{"operand": 0, "values": [-1, 1]}],
           "expectedOutputs": [{"operand": 1, "ignored": false, "values": [0, 2]}]}]}
        """);
    Outcome outcome = run("verify", "wrong.json", "--device", "cpu");
    assertEquals(1, outcome.status(), outcome.toString());
    assertEquals("thalamus: 1 example of 1 failed\n", outcome.err());
    List<String> lines = outcome.out().lines().toList();
    assertTrue(lines.getFirst().contains("wrong.json wrong: "), outcome::out);
    assertEquals("0 passed, 1 failed, 0 skipped", lines.getLast());
  }

  @Test
  void aDeviceLeavesAndComesBackWhileAModelStaysLoaded() throws Exception {
    String script =
        "nn:load '%s' --name digits; nn:run digits '%s'; nn:uninstall cpu; nn:devices;"
                .formatted(digits("digits.tflite"), digits("digit-3.png"))
            + " nn:install cpu; nn:run digits '%s'; nn:update cpu; nn:run digits '%s'; nn:models"
                .formatted(digits("digit-3.png"), digits("digit-3.png"));
    Outcome outcome = run("-c", script);
    assertEquals(0, outcome.status(), outcome.toString());
    String out = outcome.out();
    assertTrue(out.contains("uninstalled io.thalamus.cpu in "), out);
    assertTrue(out.contains("no device is here; nn:install adds one\n"), out);
    assertTrue(out.contains("installed io.thalamus.cpu 0."), out);
    assertTrue(out.contains("updated io.thalamus.cpu 0."), out);
    assertEquals(3, out.lines().filter(line -> line.contains(" operations on cpu")).count(), out);
  }

  @Test
  void singleCommandsKeepWhatTheyChangeOnRequest() throws Exception {
    storage = directory.resolve("storage");
    assertEquals(0, started(Stream.of("install", "npu", "--keep")).status());
    assertEquals(0, started(Stream.of("uninstall", "simd", "--keep")).status());
    Outcome devices = started(Stream.of("devices"));
    assertTrue(devices.out().contains("npu "), devices::out);
    assertTrue(!devices.out().contains("simd "), devices::out);
    assertTrue(!run("devices").out().contains("npu "));
    assertEquals(0, run("load", digits("digits.tflite"), "--name", "kept", "--keep").status());
    Outcome digit = run("run", "kept", digits("digit-3.png"));
    assertTrue(digit.out().startsWith("3 "), digit::toString);
    Outcome end =
        started(
            Stream.of(
                "-c", "nn:uninstall npu --keep; nn:install simd --keep; nn:unload kept --keep"));
    assertEquals(0, end.status(), end::err);
    Outcome left = started(Stream.of("-c", "nn:devices; nn:models"));
    assertTrue(left.out().contains("simd ") && !left.out().contains("npu "), left::out);
    assertTrue(left.out().contains("no model is loaded"), left::out);
    assertEquals("", left.err());
  }

  @Test
  void singleTextsHaveGogosCommands() throws Exception {
    Outcome outcome =
        run(
            "-c",
            "each [1 2] { echo x$it }; n = 0; while { %(n < 2) } { n = %(n + 1); echo y$n };"
                + " echo one two | grep two; sleep 1; exit 7");
    assertEquals(7, outcome.status(), outcome::toString);
    List<String> words = outcome.out().lines().filter(line -> !line.matches("\\d|null")).toList();
    assertTrue(words.containsAll(List.of("x1", "x2", "y1", "y2", "one two")), outcome::toString);
    assertEquals("", outcome.err());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      textBlock =
          """
          Import-Package | io.thalamus.hal;version="[9,10)" | it takes the package io.thalamus.hal \
          from 9.0.0 on below 10.0.0, and here is 1.0.0; build it for that
          Import-Package | no.such.thing | nothing here has the package no.such.thing; install the \
          bundle that exports it first
          Require-Capability | osgi.ee;filter:="(&(osgi.ee=JavaSE)(version=99))" | it was compiled \
          for Java 99, and this is Java\s
          """)
  void aBundleThatCannotBeResolvedIsRefusedWithWhatItLacks(
      String header, String value, String reason) throws Exception {
    Path jar = directory.resolve("broken.jar");
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().putValue("Manifest-Version", "1.0");
    manifest.getMainAttributes().putValue("Bundle-ManifestVersion", "2");
    manifest.getMainAttributes().putValue("Bundle-SymbolicName", "broken");
    manifest.getMainAttributes().putValue(header, value);
    new JarOutputStream(Files.newOutputStream(jar), manifest).close();
    Outcome outcome = run("install", jar.toString());
    assertEquals(1, outcome.status(), outcome::out);
    String expected = "thalamus: broken cannot be resolved: " + reason;
    assertTrue(outcome.err().startsWith(expected), outcome::err);
    assertEquals(1, outcome.err().lines().count(), outcome::err);
  }
}
