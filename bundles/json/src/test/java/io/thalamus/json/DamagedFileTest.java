// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.thalamus.json.read.JsonReader;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.LittleEndian;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ReadOptions;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files that are cut, changed or made by somebody who means ill: refused with one line. */
class DamagedFileTest {
  private static final int CHANGES = 4000;

  /** SHA-256 of 16 zeros, by {@code head -c 16 /dev/zero | sha256sum}. */
  private static final String ZEROS =
      "374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb";

  private static final String MODEL =
      """
      {"thalamus": 1, "description": "a sum", "relaxed": false,
       "labels": ["one", "two"], "normalizations": [{"input": 0, "mean": 127.5, "std": 2}],
       "constants": {"file": "zeros", "size": 16, "sha256": "%s"},
       "graphs": [{
        "operands": [
         {"name": "x", "type": "TENSOR_FLOAT32", "shape": [1, 2], "lifetime": "SUBGRAPH_INPUT"},
         {"type": "TENSOR_FLOAT32", "shape": [2], "offset": 8, "length": 8},
         {"type": "INT32", "values": [0]},
         {"type": "TENSOR_FLOAT32", "shape": [1, 2]},
         {"type": "TENSOR_QUANT8_ASYMM", "shape": [1, 2], "scale": 0.5, "zeroPoint": 128,
          "lifetime": "SUBGRAPH_OUTPUT"}],
        "operations": [
         {"type": "ADD", "inputs": [0, 1, 2], "outputs": [3]},
         {"type": "QUANTIZE", "inputs": [3], "outputs": [4]}],
        "inputs": [0], "outputs": [4]}],
       "firstValues": [{"input": 0, "value": {"type": "TENSOR_FLOAT32", "values": [3, 4]}}]}
      """
          .formatted(ZEROS);

  private static ModelFile read(byte[] text, ReadOptions options) throws ModelFormatException {
    try (SharedMemory file = memory(text);
        SharedMemory zeros = memory(new byte[16])) {
      Companions companions =
          name -> {
            if (name.equals("zeros")) {
              return zeros;
            }
            throw new ModelFormatException("there is no file " + name);
          };
      return new JsonReader().read(file, options, companions);
    }
  }

  private static SharedMemory memory(byte[] bytes) {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, bytes.length);
    memory.segment().asSlice(0, bytes.length).copyFrom(MemorySegment.ofArray(bytes));
    return memory;
  }

  private static void tryToRead(byte[] text, String what) {
    try {
      read(text, ReadOptions.DEFAULT);
    } catch (ModelFormatException e) {
      assertFalse(e.getMessage().isBlank() || e.getMessage().contains("\n"), what);
    } catch (RuntimeException | Error e) {
      fail(what, e);
    }
  }

  @Test
  void theFileItselfIsRead() throws Exception {
    ModelFile file = read(MODEL.getBytes(StandardCharsets.UTF_8), ReadOptions.DEFAULT);
    assertEquals("Thalamus JSON", file.format());
    assertEquals(2, file.model().main().operations().size());
    assertEquals(2, file.normalization(0).orElseThrow().std());
    assertArrayEquals(
        new float[] {3, 4}, file.firstValue(0).orElseThrow().bytes().toArray(LittleEndian.FLOAT));
  }

  @Test
  void itIsKnownByItsFirstName() {
    JsonReader reader = new JsonReader();
    assertTrue(reader.accepts("x", bytes(MODEL.substring(0, 64))));
    assertTrue(reader.accepts("x", bytes("\n{\n\t\"thalamus\"")));
    assertFalse(reader.accepts("x.json", bytes("{\"format\": \"thalamus\"}")));
    assertFalse(reader.accepts("x.json", bytes("")));
  }

  private static MemorySegment bytes(String text) {
    return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void anyBeginningOfAFile() {
    byte[] whole = MODEL.getBytes(StandardCharsets.UTF_8);
    for (int length = 1; length < whole.length; length++) {
      tryToRead(Arrays.copyOf(whole, length), "cut to " + length);
    }
  }

  @Test
  void anyChangeOfAFile() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    byte[] whole = MODEL.getBytes(StandardCharsets.UTF_8);
    for (int i = 0; i < CHANGES; i++) {
      byte[] changed = whole.clone();
      for (int k = random.nextInt(3); k >= 0; k--) {
        // Mostly what the text is made of.
        changed[random.nextInt(changed.length)] =
            random.nextInt(4) == 0 ? (byte) random.nextInt() : whole[random.nextInt(whole.length)];
      }
      tryToRead(changed, "seed " + seed + ", change " + i);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"thalamus\": 1 | \"thalamus\": 2 | line 1: it is of version 2 of the format, and versions"
            + " up to 1 are known",
        "\"thalamus\": 1, | '' | line 1: 'thalamus' must come first, not 'description'",
        "\"relaxed\" | \"relax\" | line 1: unknown name 'relax' in the file",
        "\"zeros\" | \"../zeros\" | there is no file ../zeros",
        "\"size\": 16 | \"size\": 15 | line 3: the file 'zeros' is not the one that was written"
            + " with it",
        "\"offset\": 8 | \"offset\": 9 | line 7: 8 bytes at 9 are not in the constants, which have"
            + " 16",
        "\"offset\": 8 | \"offset\": 9223372036854775807 | line 7: 8 bytes at 9223372036854775807"
            + " are not in the constants, which have 16",
        "\"length\": 8 | \"length\": -8 | line 7: -8 bytes at 8 are not in the constants, which"
            + " have 16",
        "\"length\": 8 | \"length\": 4 | the model is invalid: operand 1: its value has 4 bytes,"
            + " but 2 TENSOR_FLOAT32 takes 8",
        "\"values\": [0] | \"values\": [2147483648] | line 8: 2147483648 is no number of INT32",
        "\"values\": [0] | \"values\": [true] | line 8: expected a number, found a truth value",
        "\"values\": [0] | \"bytes\": \"0000000g\" | line 8: 'bytes' are pairs of hexadecimal"
            + " digits",
        "\"values\": [0] | \"graph\": 7 | the model is invalid: operand 2: a graph is referred to"
            + " by a INT32",
        "\"shape\": [2] | \"shape\": [-2] | line 7: the number -2 is negative",
        "0.5 | 1e39 | line 10: 1e39 is no number of float32",
        "\"inputs\": [0, 1, 2] | \"inputs\": [0, 1, 9] | the model is invalid: operation 0 ADD"
            + " names operand 9, but there are 5 operands",
        "\"ADD\" | \"ADDED\" | line 13: NNAPI has no operation 'ADDED'",
        "\"ADD\" | {\"extension\": \"Upper\"} | line 13: extension name 'Upper' is not a lower-case"
            + " reverse domain name",
        "[3, 4] | [3] | the first value of input 0 fits none",
        "{\"input\": 0, \"value\": | {\"value\": | line 16: a first value has one 'input' and one"
            + " 'value'",
        "\"input\": 0, \"mean\" | \"input\": 1, \"mean\" | it normalizes input 1, but there are 1",
      })
  void eachFaultIsNamed(String part, String other, String message) {
    assertTrue(MODEL.contains(part));
    byte[] text = MODEL.replace(part, other).getBytes(StandardCharsets.UTF_8);
    assertEquals(
        message,
        assertThrows(ModelFormatException.class, () -> read(text, ReadOptions.DEFAULT))
            .getMessage());
  }

  /** The first value is for an input that is no operand. */
  @Test
  void firstValuesAreLookedAtInAValidModelAlone() {
    byte[] text =
        MODEL
            .replace("\"inputs\": [0], \"outputs\": [4]}]", "\"inputs\": [9], \"outputs\": [4]}]")
            .getBytes(StandardCharsets.UTF_8);
    String message =
        assertThrows(ModelFormatException.class, () -> read(text, ReadOptions.DEFAULT))
            .getMessage();
    assertTrue(message.startsWith("the model is invalid: "), message);
  }

  @Test
  void nothingIsChosen() {
    ReadOptions options = ReadOptions.DEFAULT.withShapes(Map.of("x", Shape.of(2, 2)));
    assertEquals(
        "Thalamus JSON files leave no choice of shapes, entry point or hybrid layers",
        assertThrows(
                ModelFormatException.class,
                () -> read(MODEL.getBytes(StandardCharsets.UTF_8), options))
            .getMessage());
  }

  /** Deep nesting, long numbers, many graphs in a chain: none of it exhausts the stack. */
  @Test
  void depthAndCountsAreLimited() {
    String head = "{\"thalamus\": 1, \"graphs\": ";
    tryToRead((head + "[".repeat(1 << 20)).getBytes(StandardCharsets.UTF_8), "deep");
    tryToRead((head + "9".repeat(1 << 20)).getBytes(StandardCharsets.UTF_8), "long");
    StringBuilder chain = new StringBuilder(head).append('[');
    for (int i = 0; i < 100_000; i++) {
      chain.append(i == 0 ? "" : ",");
      chain.append("{\"operands\": [{\"type\": \"SUBGRAPH\", \"graph\": ").append(i).append("}]}");
    }
    byte[] text = chain.append("]}").toString().getBytes(StandardCharsets.UTF_8);
    assertEquals(
        "line 1: it has more than 1000 graphs",
        assertThrows(ModelFormatException.class, () -> read(text, ReadOptions.DEFAULT))
            .getMessage());
  }
}
