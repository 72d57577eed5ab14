// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.console.CommandException;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.shell.model.Models;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The descriptions of models, and the files that are written of them. */
class ModelFilesTest {
  @TempDir Path folder;

  private final FakeNetworks networks = new FakeNetworks();
  private final Models models = new Models(networks);
  private Terminal terminal;

  @BeforeEach
  void open() {
    terminal =
        new Terminal(
            folder, new InfoCommand(models), new ExportCommand(models), new RunCommand(models));
  }

  @AfterEach
  void nothingStaysOpen() {
    terminal.close();
    models.close();
    assertEquals(0, networks.open.get());
  }

  private void file(String name, ModelFile file) throws IOException {
    networks.files.put(name, file);
    Files.writeString(folder.resolve(name), "model");
  }

  private void assertFails(String line, String command) {
    CommandException e = assertThrows(CommandException.class, () -> terminal.type(command));
    assertEquals(line, e.getMessage());
  }

  @Test
  void aModelIsWrittenIntoAFolderOrAFile() throws Exception {
    SubgraphBuilder builder = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    int in = builder.input("in", type, Shape.of(1, 4), Quantization.NONE);
    int mid = builder.temporary("mid", type, Shape.of(1, 4), Quantization.NONE);
    int out = builder.output("out", type, Shape.of(1, 4), Quantization.NONE);
    builder.operation(OperationCode.RELU, List.of(in), List.of(mid));
    builder.operation(OperationCode.SOFTMAX, List.of(mid), List.of(out));
    file("float.tflite", ModelFile.of(Model.of(builder.build()), "Test format"));
    Path file = folder.resolve("float.json");
    String wrote = "wrote " + file + ", 2 operations";
    assertEquals(wrote, terminal.type("nn:export float.tflite .").strip());
    String text = Files.readString(file);
    assertTrue(text.startsWith("{\n \"thalamus\": 1,\n"), text);
    assertTrue(text.contains("{\"type\": \"SOFTMAX\", \"inputs\": [1], \"outputs\": [2]}"), text);
    Files.delete(file);
    assertEquals(wrote, terminal.type("nn:export float.tflite float.json").strip());
    assertFails(
        "float.tflite is no folder, and no name of a file that ends in .json",
        "nn:export float.tflite float.tflite");
    assertTrue(
        assertThrows(
                CommandException.class, () -> terminal.type("nn:export float.tflite no/m.json"))
            .getMessage()
            .startsWith("cannot write to no/m.json: "));
  }

  @Test
  void stateThatIsLeftOutBeginsWithTheValueOfTheFile() throws Exception {
    SubgraphBuilder builder = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    int x = builder.input("x", type, Shape.of(1), Quantization.NONE);
    int s = builder.input("s", type, Shape.of(1), Quantization.NONE);
    int out = builder.output("s.next", type, Shape.of(1), Quantization.NONE);
    builder.operation(OperationCode.ADD, List.of(x, s, builder.int32(0)), List.of(out));
    byte[] first = {1, 2, 3, 4};
    byte[] given = {5, 6, 7, 8};
    file(
        "count.tflite",
        ModelFile.of(Model.of(builder.build()), "Test format")
            .withFirstValues(Map.of(1, new ConstantCopy(first))));
    networks.outputs.put(0, new byte[4]);
    networks.outputShapes.put(0, Shape.of(1));
    Files.write(folder.resolve("given.bin"), given);
    terminal.type("nn:run count.tflite given.bin");
    assertArrayEquals(given, networks.inputs.get(0));
    assertArrayEquals(first, networks.inputs.get(1));
    terminal.type("nn:run count.tflite given.bin given.bin");
    assertArrayEquals(given, networks.inputs.get(1));
    assertFails(
        "nn:run: the model has 2 inputs (x TENSOR_FLOAT32 1, and 1 state that may be left out),"
            + " none given; usage: nn:run MODEL [INPUT...] [OPTION...]; nn:run --help says more",
        "nn:run count.tflite");
  }

  /** A product of 1x6 and 4x6 twice: 2 x 24 multiplications. */
  @Test
  void infoTellsTheWorkOfEachKindOfOperation() throws Exception {
    SubgraphBuilder builder = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_FLOAT32;
    int in = builder.input("in", type, Shape.of(1, 6), Quantization.NONE);
    int weights = builder.input("weights", type, Shape.of(4, 6), Quantization.NONE);
    int bias = builder.input("bias", type, Shape.of(4), Quantization.NONE);
    for (String name : List.of("a", "b")) {
      int out = builder.output(name, type, Shape.of(1, 4), Quantization.NONE);
      builder.operation(
          OperationCode.FULLY_CONNECTED,
          List.of(in, weights, bias, builder.int32(0)),
          List.of(out));
    }
    file("twice.tflite", ModelFile.of(Model.of(builder.build()), "Test format"));
    String info = terminal.type("nn:info twice.tflite");
    assertTrue(info.contains("  FULLY_CONNECTED  2  48 MACs"), info);
    String json = terminal.type("nn:info twice.tflite --json");
    assertTrue(json.contains("\"macsByOperation\":{\"FULLY_CONNECTED\":48}"), json);
  }
}
