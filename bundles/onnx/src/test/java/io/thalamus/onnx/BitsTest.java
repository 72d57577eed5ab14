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
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Operators on bits beside Java's own, and determinants. */
class BitsTest {
  private static final int UINT8 = 2;
  private static final int UINT16 = 4;
  private static final int INT32 = 6;
  private static final int FLOAT16 = 10;
  private static final int UINT32 = 12;
  private static final int BFLOAT16 = 16;

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

  /** Random numbers without a sign, and the least and largest. */
  private static int[] unsigned(Random random) {
    int[] values = random.ints(40).toArray();
    values[0] = -1;
    values[1] = Integer.MIN_VALUE;
    values[2] = 1;
    values[3] = Integer.MAX_VALUE;
    return values;
  }

  @ParameterizedTest
  @ValueSource(strings = {"Div", "Mod", "Max", "Min", "Add", "Mul", "RIGHT", "LEFT"})
  void numbersWithoutASign(String type) throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int[] a = unsigned(random);
    int[] b = unsigned(random);
    boolean isShift = type.equals("RIGHT") || type.equals("LEFT");
    for (int i = 0; isShift && i < b.length; i++) {
      b[i] = i % 32;
    }
    file.input("a", UINT32, 40).input("b", UINT32, 40);
    if (isShift) {
      file.node("BitShift", List.of("a", "b"), "y", text("direction", type));
    } else {
      file.node(type, List.of("a", "b"), "y");
    }
    file.output("y", UINT32, 40);
    int[] expected = new int[40];
    for (int i = 0; i < 40; i++) {
      boolean isLess = Integer.compareUnsigned(a[i], b[i]) < 0;
      expected[i] =
          switch (type) {
            case "Div" -> Integer.divideUnsigned(a[i], b[i]);
            case "Mod" -> Integer.remainderUnsigned(a[i], b[i]);
            case "Max" -> isLess ? b[i] : a[i];
            case "Min" -> isLess ? a[i] : b[i];
            case "Add" -> a[i] + b[i];
            case "Mul" -> a[i] * b[i];
            case "RIGHT" -> a[i] >>> b[i];
            default -> a[i] << b[i];
          };
    }
    byte[] found =
        TestGraph.run(
            new CpuDevice("1.0.0"),
            TestFiles.read(file.build()),
            TestGraph.bytes(a),
            TestGraph.bytes(b));
    assertArrayEquals(TestGraph.bytes(expected), found, "seed " + seed);
  }

  @Test
  void numbersWithoutASignAsReals() throws Exception {
    long seed = System.nanoTime();
    int[] a = unsigned(new Random(seed));
    file.input("a", UINT32, 40).node("Cast", List.of("a"), "y", integer("to", FLOAT));
    file.output("y", FLOAT, 40);
    byte[] bytes =
        TestGraph.run(new CpuDevice("1.0.0"), TestFiles.read(file.build()), TestGraph.bytes(a));
    float[] expected = new float[40];
    for (int i = 0; i < 40; i++) {
      expected[i] = Integer.toUnsignedLong(a[i]);
    }
    assertArrayEquals(expected, TestGraph.floats(bytes), "seed " + seed);
  }

  /** 70,000 is 4,464 beyond 16 bits. */
  @Test
  void numbersOf16BitsGoInAndOutAsSuch() throws Exception {
    file.input("a", UINT16, 2).input("b", UINT16, 2);
    file.node("Add", List.of("a", "b"), "y").output("y", UINT16, 2);
    byte[] a = {(byte) 0x60, (byte) 0xEA, 1, 0}; // 60,000 and 1
    byte[] b = {(byte) 0x10, (byte) 0x27, 2, 0}; // 10,000 and 2
    byte[] sums = TestGraph.run(new CpuDevice("1.0.0"), TestFiles.read(file.build()), a, b);
    assertArrayEquals(new byte[] {(byte) (4464 & 0xFF), 4464 >> 8, 3, 0}, sums);
  }

  @Test
  void bitsOfReals() throws Exception {
    file.input("x", FLOAT, 3).node("BitCast", List.of("x"), "i", integer("to", INT32));
    file.bytes("one", INT32, new long[] {1}, 1, 0, 0, 0).node("Add", List.of("i", "one"), "j");
    file.node("BitCast", List.of("j"), "y", integer("to", FLOAT)).output("y", FLOAT, 3);
    float[] x = {1, -2.5f, 0};
    float[] next = {Math.nextUp(1f), Math.nextDown(-2.5f), Float.MIN_VALUE};
    assertArrayEquals(next, TestFiles.run(file, x));
  }

  /** Halves go to the even neighbour; float16 has no {@code 2^23} to round by. */
  @Test
  void halvesAreRounded() throws Exception {
    file.input("x", FLOAT, 5).node("Cast", List.of("x"), "h", integer("to", FLOAT16));
    file.node("Round", List.of("h"), "r");
    file.node("Cast", List.of("r"), "y", integer("to", FLOAT)).output("y", FLOAT, 5);
    assertArrayEquals(
        new float[] {2, -2, 0, 60000, -0f}, TestFiles.run(file, 2.5f, -1.5f, 0.25f, 60000, -0.5f));
  }

  /** Of 8 bits, sums keep the low ones. */
  @Test
  void sumsOfBytesWrap() throws Exception {
    file.input("x", FLOAT, 3).node("Cast", List.of("x"), "b", integer("to", UINT8));
    file.integers("axis", new long[0], 0).node("CumSum", List.of("b", "axis"), "s");
    file.node("Cast", List.of("s"), "y", integer("to", FLOAT)).output("y", FLOAT, 3);
    assertArrayEquals(new float[] {200, 44, 45}, TestFiles.run(file, 200, 100, 1));
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

  /** The product of matrices with their inverses is the unit. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void inverses(int size) throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    float[] x = new float[2 * size * size];
    for (int i = 0; i < x.length; i++) {
      boolean isDiagonal = i % (size * size) % (size + 1) == 0;
      x[i] = random.nextFloat() + (isDiagonal ? 3 : 0);
    }
    file.input("x", FLOAT, 2, size, size)
        .node("com.microsoft.Inverse", List.of("x"), "y")
        .output("y", FLOAT, 2, size, size);
    float[] found = TestFiles.run(file, x);
    for (int matrix = 0; matrix < x.length; matrix += size * size) {
      for (int i = 0; i < size; i++) {
        for (int j = 0; j < size; j++) {
          double sum = 0;
          for (int k = 0; k < size; k++) {
            sum += (double) x[matrix + i * size + k] * found[matrix + k * size + j];
          }
          assertEquals(i == j ? 1 : 0, sum, 1e-5, "seed " + seed);
        }
      }
    }
  }

  /** Stored are the upper halves of reals: those of 1.5, -2, an infinity, and a small number. */
  @Test
  void halvesOfRealsAreTakenAndGiven() throws Exception {
    int[] stored = {0x3fc0, 0xc000, 0x7f80, 0x0080};
    file.input("x", BFLOAT16, 4)
        .floats("k", new long[] {4}, 1, 3, 1, 1)
        .floats("e", new long[] {4}, 0x1p-8f, 0x1.01p-6f, 0, 0)
        .node("Mul", List.of("x", "k"), "m")
        .node("Add", List.of("m", "e"), "y")
        .output("y", BFLOAT16, 4);
    byte[] given =
        TestGraph.run(new CpuDevice("1.0.0"), TestFiles.read(file.build()), halves(stored));
    // 1.50390625 is between two, of which 1.5 is the even one; -5.984 is nearer to -5.96875
    int[] expected = {0x3fc0, Float.floatToIntBits(-5.96875f) >>> 16, 0x7f80, 0x0080};
    assertArrayEquals(halves(expected), given);
  }

  private static byte[] halves(int... values) {
    byte[] bytes = new byte[2 * values.length];
    for (int i = 0; i < values.length; i++) {
      bytes[2 * i] = (byte) values[i];
      bytes[2 * i + 1] = (byte) (values[i] >>> 8);
    }
    return bytes;
  }

  @Test
  void unsignedResultsAreNamed() throws Exception {
    file.input("x", UINT32, 2)
        .node("Identity", List.of("x"), "y")
        .output("x", UINT32, 2)
        .output("y", UINT32, 2);
    assertEquals(
        "Results of uint32 are given as int32 of the same bits: x, y.",
        TestFiles.readFile(file.build(), Map.of()).description());
  }
}
