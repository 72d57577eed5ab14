// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.INT64;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.Refusal;
import io.thalamus.onnx.fold.Budget;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Files that are cut or changed: read, or refused with one line, and nothing else. */
class DamagedFileTest {
  private static final int CHANGES = 4000;

  private static byte[] file() {
    return new OnnxFileBuilder()
        .input("x", FLOAT, 1, 2, 4, 4)
        .floats("w", new long[] {3, 2, 1, 1}, 1, 2, 3, 4, 5, 6)
        .integers("shape", new long[] {2}, 1, -1)
        .integers("starts", new long[] {1}, 1)
        .integers("ends", new long[] {1}, 9)
        .node("Conv", List.of("x", "w"), "c", ints("strides", 1, 1), integer("group", 1))
        .node("MaxPool", List.of("c"), "p", ints("kernel_shape", 2, 2), ints("strides", 2, 2))
        .node("Reshape", List.of("p", "shape"), "r")
        .node("Slice", List.of("r", "starts", "ends"), "s")
        .node("Softmax", List.of("s"), "y")
        .output("y", FLOAT, 1, 12)
        .build();
  }

  @Test
  void anyBeginningOfAFile() {
    byte[] whole = file();
    for (int length = 1; length < whole.length; length++) {
      read(Arrays.copyOf(whole, length), "cut to " + length);
    }
  }

  @Test
  void anyChangeOfAFile() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    byte[] whole = file();
    for (int i = 0; i < CHANGES; i++) {
      byte[] changed = whole.clone();
      for (int k = random.nextInt(3); k >= 0; k--) {
        changed[random.nextInt(changed.length)] = (byte) random.nextInt();
      }
      read(changed, "seed " + seed + ", change " + i);
    }
  }

  /** Found by fuzzing: nothing is sampled of no elements, and nothing is joined of no parts. */
  @Test
  void valuesWithoutElements() {
    for (String mode : List.of("nearest", "linear", "cubic")) {
      OnnxFileBuilder resize =
          new OnnxFileBuilder()
              .floats("x", new long[] {1, 0})
              .integers("sizes", new long[] {2}, 1, 2)
              .node("Resize", List.of("x", "", "", "sizes"), "y", text("mode", mode))
              .output("y", FLOAT, 1, 2);
      assertRefused(
          "node 0 Resize 'the Resize': it samples FLOAT 1x0, which has no elements", resize);
    }
    OnnxFileBuilder attention = new OnnxFileBuilder().opset(28);
    for (String name : List.of("q", "k", "v")) {
      attention.floats(name, new long[] {1, 0, 4});
    }
    attention
        .node(
            "LinearAttention",
            List.of("q", "k", "v"),
            List.of("y", "state"),
            integer("q_num_heads", 1),
            integer("kv_num_heads", 1))
        .output("y", FLOAT, 1, 0, 4);
    assertRefused("node 0 LinearAttention 'the LinearAttention': it joins no values", attention);
  }

  /** Found by fuzzing: a count that is negative. */
  @Test
  void elementsThatAreRepeatedLessThanNever() {
    OnnxFileBuilder tile =
        new OnnxFileBuilder()
            .input("x", FLOAT, 2, 3)
            .integers("repeats", new long[] {2}, 1, Integer.MIN_VALUE)
            .node("Tile", List.of("x", "repeats"), "y")
            .output("y", FLOAT, 2, 3);
    assertRefused("node 0 Tile 'the Tile': it repeats elements -2147483648 times", tile);
  }

  /** Memory that is given back is work all the same. */
  @Test
  void memoryIsNotTakenAtWill() {
    Budget budget = new Budget(0);
    int size = 1 << 23;
    int times = 0;
    try {
      while (times < 1000) {
        budget.bytes(size);
        budget.release(size);
        times++;
      }
    } catch (Refusal e) {
      assertTrue(e.getMessage().contains("too many for a file of its size"), e.getMessage());
    }
    assertEquals(256, times);
    assertEquals((long) size * times, budget.taken());
  }

  /** Other sizes are tried until the first operator fails, and the first failures are told. */
  @Test
  void allOperatorsThatFailAreNamedWhateverIsTried() {
    OnnxFileBuilder open =
        new OnnxFileBuilder()
            .input("x", FLOAT, -1, -1)
            .node("Nonsense", List.of("x"), "a")
            .node("Folly", List.of("x"), "b")
            .output("a", FLOAT, -1, -1)
            .output("b", FLOAT, -1, -1);
    assertRefused(
        "2 operators cannot be expressed: node 0 Nonsense 'the Nonsense': nothing that is known"
            + " here computes it; node 1 Folly 'the Folly': nothing that is known here computes it"
            + " (open dimensions were taken as 1; give others by their input)",
        open);
  }

  /** What is looked for beside open dimensions, and before slices, may be damaged too. */
  @Test
  void nodesWithoutResultsAreRefusedOrLeftOut() {
    OnnxFileBuilder open =
        new OnnxFileBuilder()
            .input("x", FLOAT, -1, -1)
            .input("n", INT64, 1)
            .node("Concat", List.of("n", "n"), List.of())
            .node("Constant", List.of(), List.of())
            .node("Slice", List.of("x", "n", "n"), "y")
            .node("MatMul", List.of("y", "x"), "z")
            .output("z", FLOAT, -1, -1);
    read(open.build(), "without results");
  }

  private static void assertRefused(String message, OnnxFileBuilder file) {
    assertEquals(
        message,
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file.build())).getMessage());
  }

  private static void read(byte[] bytes, String what) {
    try {
      TestFiles.read(bytes);
    } catch (ModelFormatException e) {
      assertFalse(e.getMessage().isBlank() || e.getMessage().contains("\n"), what);
    } catch (RuntimeException | Error e) {
      fail(what, e);
    }
  }
}
