// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.console.CommandException;
import io.thalamus.model.Shape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VerifyCommandTest {
  static final String EXAMPLE =
      """
      {"format": "nnapi-vectors-1", "spec": "relu.mod.py", "specVersion": "V1_0",
       "source": {"repo": "r", "commit": "c", "path": "p"}, "pool": {},
       "examples": [{"name": "relu_NAME", "modelName": null, "exampleName": null,
         "variations": [], "halVersion": "V1_0", "isRelaxed": false, "expectFailure": false,
         "multinomialTolerance": 0, "referenced": [],
         "main": {
           "operands": [
             {"name": "a", "type": "TENSOR_FLOAT32", "dims": [2], "lifetime": "SUBGRAPH_INPUT",
              "consumers": 1},
             {"name": "b", "type": "TENSOR_FLOAT32", "dims": [2], "lifetime": "SUBGRAPH_OUTPUT",
              "consumers": 0}],
           "operations": [{"type": "RELU", "inputs": [0], "outputs": [1]}],
           "inputIndexes": [0], "outputIndexes": [1]},
         "inputs": [{"operand": 0, "values": [-1, 1]}],
         "expectedOutputs": [{"operand": 1, "ignored": false, "values": [0, EXPECTED]}]}]}
      """;

  @TempDir Path folder;

  private final FakeNetworks networks = new FakeNetworks();
  private Terminal terminal;

  @BeforeEach
  void open() {
    terminal = new Terminal(folder, new VerifyCommand(networks));
    networks.outputs.put(
        0, ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putFloat(4, 1).array());
    networks.outputShapes.put(0, Shape.of(2));
  }

  @AfterEach
  void close() {
    terminal.close();
    assertEquals(0, networks.open.get());
  }

  private void example(String name, String expected) throws Exception {
    Files.createDirectories(folder.resolve("v/V1_0"));
    Files.writeString(
        folder.resolve("v/V1_0/" + name + ".json"),
        EXAMPLE.replace("NAME", name).replace("EXPECTED", expected));
  }

  @Test
  void theLastLineCounts() throws Exception {
    example("right", "1");
    List<String> lines = terminal.type("nn:verify v --device cpu").lines().toList();
    assertEquals("1 passed, 0 failed, 0 skipped", lines.getLast());
    assertTrue(lines.getFirst().startsWith("device cpu, "), lines.toString());
    assertEquals(Fallback.DENY, networks.compiled.getFirst().fallback());
    assertEquals(List.of("cpu"), networks.compiled.getFirst().devices());
  }

  @Test
  void aFailureIsShownAndFailsTheCommand() throws Exception {
    example("right", "1");
    example("wrong", "2");
    CommandException e = assertThrows(CommandException.class, () -> terminal.type("nn:verify v"));
    assertEquals("1 example of 2 failed", e.getMessage());
    assertEquals(1, e.exitStatus());
    List<String> lines = terminal.printed().lines().toList();
    assertTrue(lines.getFirst().startsWith("V1_0/wrong.json relu_wrong: "), lines.toString());
    assertEquals("1 passed, 1 failed, 0 skipped", lines.getLast());
    assertThrows(CommandException.class, () -> terminal.type("nn:verify v --json"));
    String json = terminal.printed().strip();
    assertTrue(json.startsWith("{\"target\":\"any device\",\"passed\":1,\"failed\":1,"), json);
    assertEquals(1, json.lines().count());
  }

  @Test
  void aDamagedFileIsNamedOnce() throws Exception {
    Files.createDirectories(folder.resolve("v"));
    Files.writeString(folder.resolve("v/bad.json"), "{\"format\": }");
    assertThrows(CommandException.class, () -> terminal.type("nn:verify v"));
    String line = terminal.printed().lines().findFirst().orElseThrow();
    assertTrue(line.startsWith("bad.json: no valid JSON: "), line);
  }

  @Test
  void reportsAreWrittenWhole() throws Exception {
    example("right", "1");
    terminal.type("nn:verify v --report report.xml");
    assertTrue(Files.readString(folder.resolve("report.xml")).contains("relu_right"));
  }

  @Test
  void whatIsNotThereIsOneLine() throws Exception {
    example("right", "1");
    assertFails("no such file or folder: " + folder.resolve("x"), "nn:verify x");
    assertFails(
        "no example of " + folder.resolve("v") + " matches 'nothing*'",
        "nn:verify v --filter 'nothing*'");
    assertThrows(CommandException.class, () -> terminal.type("nn:verify v --filter '[x'"));
    assertThrows(CommandException.class, () -> terminal.type("nn:verify v --mode slow"));
    assertThrows(CommandException.class, () -> terminal.type("nn:verify"));
  }

  private void assertFails(String line, String command) {
    CommandException e = assertThrows(CommandException.class, () -> terminal.type(command));
    assertEquals(line, e.getMessage());
  }
}
