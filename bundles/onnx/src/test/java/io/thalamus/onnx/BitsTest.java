// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Operators on bits beside Java's own, and determinants. */
class BitsTest {
  private static final int UINT8 = 2;
  private static final int INT32 = 6;

  private final OnnxFileBuilder file = new OnnxFileBuilder();

  @ParameterizedTest
  @ValueSource(strings = {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"})
  void bitsOfWholeNumbers(String type) throws Exception {
    long seed = System.nanoTime();
    int[] a = new Random(seed).ints(40).toArray();
    int[] b = new Random(seed + 1).ints(40).toArray();
    b[0] = a[0];
    b[1] = Integer.MIN_VALUE;
    b[2] = -1;
    file.input("a", INT32, 40).input("b", INT32, 40);
    boolean isNot = type.equals("BitwiseNot");
    file.node(type, isNot ? List.of("a") : List.of("a", "b"), "y").output("y", INT32, 40);
    byte[] bytes =
        TestGraph.run(
            new CpuDevice("1.0.0"),
            TestFiles.read(file.build()),
            TestGraph.bytes(a),
            TestGraph.bytes(b));
    int[] expected = new int[40];
    for (int i = 0; i < 40; i++) {
      expected[i] =
          switch (type) {
            case "BitwiseAnd" -> a[i] & b[i];
            case "BitwiseOr" -> a[i] | b[i];
            case "BitwiseXor" -> a[i] ^ b[i];
            default -> ~a[i];
          };
    }
    assertArrayEquals(TestGraph.bytes(expected), bytes, "seed " + seed);
  }

  /** 200 is 0b11001000. */
  @Test
  void bytesAreShifted() throws Exception {
    file.input("x", FLOAT, 2)
        .bytes("by", UINT8, new long[] {2}, 1, 3)
        .node("Cast", List.of("x"), "u", integer("to", UINT8))
        .node("BitShift", List.of("u", "by"), "l", text("direction", "LEFT"))
        .node("BitShift", List.of("u", "by"), "r", text("direction", "RIGHT"))
        .node("Cast", List.of("l"), "left", integer("to", FLOAT))
        .node("Cast", List.of("r"), "right", integer("to", FLOAT))
        .node("Concat", List.of("left", "right"), "y", integer("axis", 0))
        .output("y", FLOAT, 4);
    assertArrayEquals(new float[] {144, 40, 100, 0}, TestFiles.run(file, 200, 5));
  }

  /** A matrix of four rows that a permutation and a scale make of a triangular one. */
  @Test
  void determinants() throws Exception {
    file.input("x", FLOAT, 2, 4, 4).node("Det", List.of("x"), "y").output("y", FLOAT, 2);
    float[] x = {
      0, 0, 0, 5, 0, 3, 7, 1, 0, 0, 4, 9, 2, 1, 1, 1, // rows 1 and 4 swapped: -(2 * 3 * 4 * 5)
      1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 5, 6, 0, 0, 7, 8 // blocks: (4 - 6) * (40 - 42)
    };
    float[] found = TestFiles.run(file, x);
    assertEquals(-120, found[0], 1e-4);
    assertEquals(4, found[1], 1e-4);
  }
}
