// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.model.OperandCode;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Graphs of random shapes, run on the device and on the reference. Stateless. */
final class RandomGraphs {
  private static final int ROUNDS = 60;

  private static final float[] SPECIAL = {
    0,
    -0f,
    1,
    -1,
    2,
    -2,
    0.5f,
    3,
    -3,
    Float.NaN,
    Float.POSITIVE_INFINITY,
    Float.NEGATIVE_INFINITY,
    Float.MIN_VALUE,
    Float.MIN_NORMAL,
    Float.MAX_VALUE,
    88,
    -88,
    100,
    -100,
    1e-3f
  };

  private static final CpuDevice CPU = new CpuDevice("1.0.0");

  private RandomGraphs() {}

  /** Fills one graph by random numbers, and says what it is given. */
  @FunctionalInterface
  interface Source {
    byte[][] fill(TestGraph graph, Random random);
  }

  /**
   * Runs graphs on the device, and with each call between guard pages, and compares the first
   * output with the reference's.
   *
   * @param tolerance of numbers up to 1, and of others by their size; 0 for the same bytes
   */
  static void compare(Level level, double tolerance, Source source) throws Exception {
    Levels.assume(level);
    long seed = Long.getLong("thalamus.seed", 1);
    Random random = new Random(seed);
    try (X86Device device = Levels.device(level)) {
      for (int round = 0; round < ROUNDS; round++) {
        try (TestGraph graph = new TestGraph()) {
          byte[][] inputs = source.fill(graph, random);
          String message = "round " + round + ", seed " + seed;
          byte[] expected = TestGraph.run(CPU, graph.model(), inputs);
          byte[] actual = TestGraph.run(device, graph.model(), inputs);
          byte[] guarded = GuardedProgram.run(device, level, graph.model(), random, inputs);
          if (tolerance == 0) {
            TestGraph.assertSame(expected, actual, message);
            TestGraph.assertSame(expected, guarded, message + ", guarded");
          } else {
            assertNear(tolerance, expected, actual, message);
            assertNear(tolerance, expected, guarded, message + ", guarded");
          }
        }
      }
    }
  }

  private static void assertNear(double tolerance, byte[] expected, byte[] actual, String message) {
    float[] wanted = TestGraph.floats(expected);
    float[] found = TestGraph.floats(actual);
    assertEquals(wanted.length, found.length, message);
    for (int i = 0; i < wanted.length; i++) {
      double size = Float.isFinite(wanted[i]) ? Math.max(1, Math.abs(wanted[i])) : 0;
      assertEquals(wanted[i], found[i], tolerance * size, message + ", element " + i);
    }
  }

  static byte[] floats(Random random, double scale, int... shape) {
    float[] values = new float[count(shape)];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) (scale * (random.nextDouble() * 2 - 1));
    }
    return TestGraph.bytes(values);
  }

  static byte[] special(Random random, int... shape) {
    float[] values = new float[count(shape)];
    for (int i = 0; i < values.length; i++) {
      values[i] =
          random.nextInt(3) > 0
              ? SPECIAL[random.nextInt(SPECIAL.length)]
              : random.nextFloat() * 20 - 10;
    }
    return TestGraph.bytes(values);
  }

  static byte[] bytes(Random random, int limit, int... shape) {
    byte[] values = new byte[count(shape)];
    for (int i = 0; i < values.length; i++) {
      values[i] = (byte) random.nextInt(limit);
    }
    return values;
  }

  /** Any stored bytes. */
  static byte[] stored(Random random, int... shape) {
    return bytes(random, 256, shape);
  }

  /** A type of stored bytes. */
  static OperandCode storedType(Random random) {
    return random.nextBoolean() ? TENSOR_QUANT8_ASYMM : TENSOR_QUANT8_ASYMM_SIGNED;
  }

  static byte[] ints(Random random, int... shape) {
    int[] values = new int[count(shape)];
    for (int i = 0; i < values.length; i++) {
      values[i] = random.nextInt(7) == 0 ? random.nextInt() : random.nextInt(9) - 4;
    }
    return TestGraph.bytes(values);
  }

  static int count(int... shape) {
    return Arrays.stream(shape).reduce(1, (a, b) -> a * b);
  }

  static int[] shape(Random random) {
    return new int[] {
      1 + random.nextInt(2), 1 + random.nextInt(4), 1 + random.nextInt(5), 1 + random.nextInt(40)
    };
  }

  /** Two shapes that are brought to one, and that. */
  static int[][] broadcast(Random random) {
    int[] result = shape(random);
    int[] first = result.clone();
    int[] second = result.clone();
    int way = random.nextInt(4);
    for (int i = 0; i < result.length; i++) {
      if (way > 0 && random.nextBoolean()) {
        (way == 1 ? first : way == 2 ? second : random.nextBoolean() ? first : second)[i] = 1;
      }
      result[i] = Math.max(first[i], second[i]);
    }
    return new int[][] {first, second, result};
  }

  static <T> T one(Random random, List<T> of) {
    return of.get(random.nextInt(of.size()));
  }

  static byte[] halves(Random random, int... shape) {
    byte[] bytes = new byte[2 * count(shape)];
    for (int i = 0; i < bytes.length; i += 2) {
      short half = Float.floatToFloat16(random.nextFloat() * 200 - 100);
      bytes[i] = (byte) half;
      bytes[i + 1] = (byte) (half >> 8);
    }
    return bytes;
  }
}
