// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.thalamus.model.Model;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;

/** QUANTIZE between integers of 8, 16 and 32 bits. */
class RequantizationTest {
  private static final int ROUNDS = 60;
  private static final int COUNT = 40;

  private final long seed = Long.getLong("thalamus.seed", 1);
  private final Random random = new Random(seed);

  private static byte type(int bits) {
    return switch (bits) {
      case 8 -> TensorType.INT8;
      case 16 -> TensorType.INT16;
      default -> TensorType.INT32;
    };
  }

  private int zeroPoint(int bits) {
    return bits == 8 ? random.nextInt(-128, 128) : 0;
  }

  private static long least(int bits) {
    return -1L << bits - 1;
  }

  /** All sizes of numbers, the least and the largest of the type among them. */
  private double[] numbers(int bits, long most) {
    double[] numbers = new double[COUNT];
    Arrays.setAll(numbers, i -> random.nextInt() >> random.nextInt(32 - bits, 31));
    numbers[0] = Math.max(least(bits), -most - 1);
    numbers[1] = Math.min(-least(bits) - 1, most);
    return Arrays.stream(numbers).map(x -> Math.clamp(x, numbers[0], numbers[1])).toArray();
  }

  @ParameterizedTest
  @CsvSource({"32, 16", "16, 32", "16, 16", "16, 8", "8, 32", "32, 8"})
  void integersAreScaledToTheBit(int from, int to) throws Exception {
    System.out.println("RequantizationTest seed " + seed);
    for (int round = 0; round < ROUNDS; round++) {
      float first = (float) Math.pow(2, random.nextDouble(-8, 8));
      // Products fit 32 bits, beyond which TensorFlow Lite's are undefined.
      int up = 31 - (from == 32 ? 31 : from);
      float second = (float) (first / Math.pow(2, random.nextDouble(-20, up)));
      int zero = zeroPoint(from);
      int target = zeroPoint(to);
      TfliteFileBuilder file = new TfliteFileBuilder();
      int x = file.tensor("x", type(from), Quantized.of(first, zero), COUNT);
      int y = file.tensor("y", type(to), Quantized.of(second, target), COUNT);
      file.operator(BuiltinOperator.QUANTIZE, new int[] {x}, y).graph(new int[] {x}, y);
      Model model = TestFiles.read(file).model();
      double[] numbers = numbers(from, Integer.MAX_VALUE);
      double factor = first / (double) second;
      double[] expected = new double[COUNT];
      Arrays.setAll(
          expected,
          i ->
              Math.clamp(
                  (long) IntegerOracle.product((int) numbers[i] - zero, factor) + target,
                  least(to),
                  -least(to) - 1));
      assertArrayEquals(
          expected,
          GraphRun.outputs(model, numbers).getFirst(),
          "round %d of seed %d, factor %s".formatted(round, seed, factor));
    }
  }

  /** The half of a product is rounded up, and the half that its shift leaves away from 0. */
  @Test
  void halvesAreRoundedTwice() throws Exception {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int x = file.tensor("x", TensorType.INT32, Quantized.of(1, 0), 4);
    int half = file.tensor("half", TensorType.INT16, Quantized.of(2, 0), 4);
    int quarter = file.tensor("quarter", TensorType.INT16, Quantized.of(4, 0), 4);
    file.operator(BuiltinOperator.QUANTIZE, new int[] {x}, half)
        .operator(BuiltinOperator.QUANTIZE, new int[] {x}, quarter)
        .graph(new int[] {x}, half, quarter);
    Model model = TestFiles.read(file).model();
    var outputs = GraphRun.outputs(model, new double[] {-5, -3, 5, 10});
    assertArrayEquals(new double[] {-2, -1, 3, 5}, outputs.get(0));
    assertArrayEquals(new double[] {-1, -1, 2, 3}, outputs.get(1));
  }

  /** Within a graph integers of 16 bits may have a zero point: SOFTMAX writes such. */
  @Test
  void aZeroPointOf16BitsIsTakenAway() throws Exception {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int x = file.tensor("x", TensorType.INT32, Quantized.of(0x1p-15f, 0), 4);
    int between = file.tensor("b", TensorType.INT16, Quantized.of(0x1p-16f, -32768), 4);
    int y = file.tensor("y", TensorType.INT32, Quantized.of(0x1p-15f, 0), 4);
    file.operator(BuiltinOperator.QUANTIZE, new int[] {x}, between)
        .operator(BuiltinOperator.QUANTIZE, new int[] {between}, y)
        .graph(new int[] {x}, y);
    Model model = TestFiles.read(file).model();
    // All from 0 to 65535 steps of 1 / 65536 are there: twice as many as the sign leaves.
    assertArrayEquals(
        new double[] {0, 0, 20000, 32768},
        GraphRun.outputs(model, new double[] {-7, 0, 20000, 40000}).getFirst());
  }
}
