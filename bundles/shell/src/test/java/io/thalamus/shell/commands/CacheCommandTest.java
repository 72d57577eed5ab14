// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.CompilationCache.Check;
import io.thalamus.api.CompilationCache.Entry;
import io.thalamus.api.CompilationCache.Forecast;
import io.thalamus.api.CompilationCache.Looks;
import io.thalamus.api.CompilationCache.Trouble;
import io.thalamus.api.CompilationOptions;
import io.thalamus.console.CommandException;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.session.Kept;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The view of stored compilations, and the commands that ask for caching. */
class CacheCommandTest {
  @TempDir Path folder;

  private final FakeNetworks networks = new FakeNetworks();
  private final Models models = new Models(networks);
  private final FakeCache cache = new FakeCache();
  private Terminal terminal;

  @BeforeEach
  void open() throws Exception {
    terminal =
        new Terminal(
            folder,
            new CacheCommand(cache, models),
            new ModelsCommand(models, Kept.in(folder)),
            new RunCommand(models),
            new BenchCommand(null, networks, models, cache));
    SubgraphBuilder builder = new SubgraphBuilder();
    int in = builder.input("x", OperandCode.TENSOR_FLOAT32, Shape.of(4), Quantization.NONE);
    int out = builder.output("y", OperandCode.TENSOR_FLOAT32, Shape.of(4), Quantization.NONE);
    builder.operation(OperationCode.RELU, List.of(in), List.of(out));
    networks.files.put("m.tflite", ModelFile.of(Model.of(builder.build()), "Test format"));
    networks.outputs.put(0, new byte[16]);
    networks.outputShapes.put(0, Shape.of(4));
    Files.writeString(folder.resolve("m.tflite"), "content");
  }

  @AfterEach
  void nothingStaysOpen() {
    terminal.close();
    models.close();
    assertEquals(0, networks.open.get());
  }

  private static Entry entry(String label, boolean isBeingWritten) {
    return new Entry(
        "A".repeat(64),
        label,
        "RELU (operation 0)",
        label.isEmpty() ? "" : "thalamus-npu",
        "0.1.0",
        2,
        2048,
        Instant.now().minus(Duration.ofHours(75)),
        isBeingWritten);
  }

  @Test
  void whatHindersKeepingIsSaid() throws Exception {
    Path directory = folder.resolve("c");
    cache.obstacle = Optional.of("there is no room");
    cache.troubles.add(new Trouble(directory, "there is no room", Instant.now()));
    cache.troubles.add(new Trouble(directory, "the model is too large", Instant.now()));
    cache.troubles.add(new Trouble(folder.resolve("d"), "another", Instant.now()));
    assertEquals(
        List.of(
            "nothing is stored in " + directory,
            "no compilation is added: there is no room",
            "no compilation is added: the model is too large"),
        terminal.type("nn:cache ls c").lines().toList());
    String json = terminal.type("nn:cache ls c --json");
    assertTrue(
        json.contains("\"obstacles\":[\"there is no room\",\"the model is too large\"]"), json);
  }

  @Test
  void aLoadedModelIsCompiledInItsCacheUnlessACommandNamesAnother() throws Exception {
    networks.caching = List.of(new CacheOutcome("npu", 1, CacheOutcome.Origin.RESTORED));
    String loaded = terminal.type("nn:load m.tflite --cache c");
    assertTrue(loaded.endsWith("\nm: compilations are stored in " + folder.resolve("c")), loaded);
    assertTrue(
        terminal.type("nn:models --json").contains("\"cache\":\"" + folder.resolve("c") + "\""));
    String text = terminal.type("nn:run m random:1");
    assertTrue(text.endsWith(" (from the cache)"), text);
    assertCaching(networks.compiled.getLast());
    terminal.type("nn:run m random:1");
    assertEquals(1, networks.compiled.size());
    terminal.type("nn:run m random:1 --cache d");
    assertEquals(
        folder.resolve("d"), networks.compiled.getLast().caching().orElseThrow().directory());
    assertEquals(2, networks.compiled.size());
    terminal.type("nn:bench m --seconds 0.05");
    assertTrue(networks.compiled.getLast().caching().isEmpty());
    terminal.type("nn:unload m");
    terminal.type("nn:load m.tflite");
    text = terminal.type("nn:run m random:1");
    assertTrue(networks.compiled.getLast().caching().isEmpty());
    assertFalse(text.contains("cache"), text);
    terminal.type("nn:unload m");
  }

  @Test
  void entriesAreATable() throws Exception {
    assertEquals("nothing is stored in " + folder.resolve("c"), terminal.type("nn:cache ls c"));
    cache.entries.add(entry("digits", false));
    cache.entries.add(entry("", true));
    assertEquals(
        List.of(
            "model   device        version     size  last used  part",
            "digits  thalamus-npu  0.1.0    2.0 KiB  3 d ago    RELU (operation 0)",
            "?       ?             0.1.0    2.0 KiB  3 d ago    RELU (operation 0) (being written)",
            "2 entries, 4.0 KiB in " + folder.resolve("c")),
        terminal.type("nn:cache ls c").lines().toList());
    cache.looks.add(new Looks("npu", 1_234, 2, 3, 4));
    cache.looks.add(new Looks("simd", 1, 0, 0, 0));
    assertEquals(
        List.of(
            "npu in this process: 1,234 restored, 2 not stored before, 3 refused, 4 not available",
            "simd in this process: 1 restored, 0 not stored before"),
        terminal.type("nn:cache ls c").lines().skip(4).toList());
    String json = terminal.type("nn:cache ls c --json");
    assertTrue(json.contains("\"model\":\"digits\""), json);
    assertTrue(json.contains("\"sizeBytes\":2048"), json);
  }

  @Test
  void damagedEntriesFailTheCheck() throws Exception {
    cache.checks.add(new Check(entry("digits", false), Check.State.GOOD, ""));
    String good = terminal.type("nn:cache verify c");
    assertTrue(good.endsWith("1 good, 0 stale, 0 bad, 0 unused"), good);
    cache.checks.add(new Check(entry("digits", false), Check.State.BAD, "the hash is another"));
    CommandException failed =
        assertThrows(CommandException.class, () -> terminal.type("nn:cache verify c"));
    assertEquals("1 entry is damaged; the next compilation writes it anew", failed.getMessage());
  }

  @Test
  void collectingSaysWhatWentAndWhatStays() throws Exception {
    cache.entries.add(entry("digits", false));
    cache.entries.add(entry("digits", false));
    assertEquals(
        "removed 1 entry, 2.0 KiB; 1 entry, 2.0 KiB stay in " + folder.resolve("c"),
        terminal.type("nn:cache gc c --bytes 3000"));
    assertEquals(3000, cache.collected);
    terminal.type("nn:cache gc c");
    assertEquals(77, cache.collected);
  }

  @Test
  void whyAsksWithTheTokenOfTheFile() throws Exception {
    cache.forecasts.add(new Forecast("the whole model", "npu", false, List.of("a", "b")));
    cache.forecasts.add(new Forecast("RELU", "cpu", true, List.of()));
    assertEquals(
        List.of(
            "device  part             would be        because",
            "npu     the whole model  compiled        a; b",
            "cpu     RELU             from the cache"),
        terminal.type("nn:cache why m.tflite c --priority high").lines().toList());
    CompilationOptions asked = cache.asked.getFirst();
    assertEquals(Priority.HIGH, asked.priority());
    assertCaching(asked);
  }

  private void assertCaching(CompilationOptions options) throws Exception {
    CacheOptions caching = options.caching().orElseThrow();
    assertEquals(folder.resolve("c"), caching.directory());
    assertEquals("m", caching.label());
    assertEquals(
        HexFormat.of()
            .formatHex(
                MessageDigest.getInstance("SHA-256")
                    .digest("content".getBytes(StandardCharsets.UTF_8))),
        caching.token().toString());
  }

  @Test
  void wrongWordsAreNamed() {
    assertUsage("'ls2' is none of ls, verify, gc and why MODEL", "nn:cache ls2");
    assertUsage("'more' is one word too many", "nn:cache ls c more");
    assertUsage("nn:cache why MODEL asks for a model", "nn:cache why");
    CommandException nowhere =
        assertThrows(CommandException.class, () -> terminal.type("nn:cache"));
    assertEquals("there is no storage directory here; name a directory", nowhere.getMessage());
  }

  private void assertUsage(String expected, String command) {
    CommandException e = assertThrows(CommandException.class, () -> terminal.type(command));
    assertTrue(e.getMessage().startsWith("nn:cache: " + expected + ";"), e.getMessage());
  }

  @Test
  void runAndBenchCompileWithCaching() throws Exception {
    networks.caching = List.of(new CacheOutcome("npu", 1, CacheOutcome.Origin.RESTORED));
    String text = terminal.type("nn:run m.tflite random:1 --cache c");
    assertTrue(text.endsWith(" (from the cache)"), text);
    assertCaching(networks.compiled.getLast());
    String json = terminal.type("nn:bench m.tflite --cache c --seconds 0.05 --json");
    assertTrue(json.contains("\"warmCompile\":\"from the cache\""), json);
    assertCaching(networks.compiled.getLast());
    // What an earlier run has stored must not make the cold compilation warm.
    assertCaching(cache.asked.getLast());
    networks.caching = List.of(new CacheOutcome("cpu", 1, CacheOutcome.Origin.COMPILED));
    text = terminal.type("nn:bench m.tflite --cache c --seconds 0.05");
    assertTrue(text.contains("warm is compiled: no device of the plan caches"), text);
  }
}
