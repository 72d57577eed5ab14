// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.model.Elements;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteFileBuilder.Quantized;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.SVDFOptions;
import org.tensorflow.lite.schema.TensorType;

/** SVDF on integers against the loops of TensorFlow Lite's specification. */
class IntegerSvdfTest {
  private static final int STEPS = 12;
  private static final float INPUT = 0.05f;
  private static final float FEATURES = 0.02f;
  private static final float TIMES = 0.03f;
  private static final float OUTPUT = 0.9f;

  /** Sums of products with more bits are beyond 32, where TensorFlow Lite's are undefined. */
  private static final int TIME_BITS = 13;

  private static final int INPUT_ZERO = -17;
  private static final int OUTPUT_ZERO = -90;

  private final long seed = Long.getLong("thalamus.seed", 1);
  private final Random random = new Random(seed);

  /** A filter; the state is as many numbers as the memories of all filters. */
  private final class Filter {
    final int batch;
    final int size;
    final int rank;
    final int units;
    final int memory;
    final int bits;
    final float scale;
    final int zero;
    final double[] features;
    final double[] times;
    final double[] bias;
    double[] state;

    Filter(int batch, int size, int rank, int units, int memory, int bits) {
      this.batch = batch;
      this.size = size;
      this.rank = rank;
      this.units = units;
      this.memory = memory;
      this.bits = bits;
      // So coarse that some sums are beyond the type.
      this.scale = bits == 8 ? 0.08f : 0.0006f;
      this.zero = bits == 8 ? 21 : 0;
      this.features = numbers(rank * units * size, 8);
      this.times = numbers(rank * units * memory, Math.min(bits, TIME_BITS));
      this.bias = numbers(units, 10);
      this.state = new double[batch * rank * units * memory];
      Arrays.fill(state, zero);
    }

    private double[] numbers(int count, int bits) {
      double[] numbers = new double[count];
      Arrays.setAll(numbers, i -> random.nextInt() >> 32 - bits);
      return numbers;
    }

    private double limited(double value, int bits) {
      double least = -Math.pow(2, bits - 1);
      return Math.clamp(value, least, -least - 1);
    }

    double[] step(double[] input) {
      int filters = rank * units;
      double[] next = new double[state.length];
      double[] sums = new double[batch * units];
      for (int place = 0; place < batch * filters; place++) {
        int filter = place % filters;
        double product = 0;
        for (int i = 0; i < size; i++) {
          double value = input[place / filters * size + i] - INPUT_ZERO;
          product += features[filter * size + i] * value;
        }
        int scaled = IntegerOracle.product((int) product, INPUT * FEATURES / scale);
        System.arraycopy(state, place * memory + 1, next, place * memory, memory - 1);
        next[place * memory + memory - 1] = limited(scaled + zero, bits);
        for (int i = 0; i < memory; i++) {
          sums[place / rank] += times[filter * memory + i] * (next[place * memory + i] - zero);
        }
      }
      state = next;
      double[] output = new double[sums.length];
      for (int i = 0; i < output.length; i++) {
        int sum = (int) (sums[i] + bias[i % units]);
        output[i] =
            limited(IntegerOracle.product(sum, scale * times(bits) / OUTPUT) + OUTPUT_ZERO, 8);
      }
      return output;
    }

    TfliteFileBuilder file() {
      byte kept = bits == 8 ? TensorType.INT8 : TensorType.INT16;
      TfliteFileBuilder file = new TfliteFileBuilder();
      Quantized weights = Quantized.of(times(bits), 0);
      int x = file.tensor("x", TensorType.INT8, Quantized.of(INPUT, INPUT_ZERO), batch, size);
      int first =
          file.constant(
              "features",
              TensorType.INT8,
              Quantized.of(FEATURES, 0),
              bytes(features, 8),
              rank * units,
              size);
      int second = file.constant("times", kept, weights, bytes(times, bits), rank * units, memory);
      int third =
          file.constant("bias", TensorType.INT32, Quantized.of(1, 0), bytes(bias, 32), units);
      int fourth = file.variable("", kept, Quantized.of(scale, zero), batch, state.length / batch);
      int y = file.tensor("y", TensorType.INT8, Quantized.of(OUTPUT, OUTPUT_ZERO), batch, units);
      svdf(file, rank, ActivationFunctionType.RELU, x, first, second, third, fourth, y);
      return file.graph(new int[] {x}, y);
    }
  }

  /** The scale of the weights by time, which are larger integers where they have 16 bits. */
  private static float times(int bits) {
    return bits == 8 ? TIMES : TIMES / 32;
  }

  private static byte[] bytes(double[] numbers, int bits) {
    OperandCode type =
        switch (bits) {
          case 8 -> OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
          case 16 -> OperandCode.TENSOR_QUANT16_SYMM;
          default -> OperandCode.TENSOR_INT32;
        };
    byte[] bytes = new byte[numbers.length * bits / 8];
    for (int i = 0; i < numbers.length; i++) {
      Elements.of(type).setDouble(MemorySegment.ofArray(bytes), i, numbers[i]);
    }
    return bytes;
  }

  private static void svdf(TfliteFileBuilder file, int rank, byte activation, int... tensors) {
    file.operator(
        BuiltinOperator.SVDF,
        BuiltinOptions.SVDFOptions,
        flat -> SVDFOptions.createSVDFOptions(flat, rank, activation, false),
        Arrays.copyOf(tensors, 5),
        tensors[5]);
  }

  @ParameterizedTest
  @CsvSource({"1, 7, 1, 5, 4, 16", "2, 9, 2, 3, 6, 16", "2, 9, 3, 4, 5, 8", "1, 5, 1, 2, 1, 8"})
  void eachStepIsThatOfTheSpecification(
      int batch, int size, int rank, int units, int memory, int bits) throws Exception {
    System.out.println("IntegerSvdfTest seed " + seed);
    Filter filter = new Filter(batch, size, rank, units, memory, bits);
    ModelFile file = TestFiles.read(filter.file());
    double[] state = filter.state;
    for (int step = 0; step < STEPS; step++) {
      double[] input = filter.numbers(batch * size, 8);
      double[] expected = filter.step(input);
      if (memory == 1) {
        assertArrayEquals(expected, GraphRun.outputs(file.model(), input).getFirst());
        continue;
      }
      List<double[]> outputs = GraphRun.outputs(file.model(), input, state);
      assertArrayEquals(expected, outputs.get(0), "step " + step + " of seed " + seed);
      assertArrayEquals(filter.state, outputs.get(1), "state " + step + " of seed " + seed);
      state = outputs.get(1);
    }
  }

  /** TensorFlow Lite begins with real zeros, and so with the zero point. */
  @Test
  void theFirstStateIsTheZeroPoint() throws Exception {
    ModelFile file = TestFiles.read(new Filter(1, 3, 1, 2, 2, 8).file());
    Lifetime.Constant first = file.firstValue(1).orElseThrow();
    assertArrayEquals(new byte[] {21, 21, 21, 21}, first.bytes().toArray(ValueLayout.JAVA_BYTE));
  }

  @Test
  void statesWithoutNamesAreDifferentOnes() throws Exception {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int x = file.floats("x", 1, 3);
    List<Integer> outputs = new ArrayList<>();
    for (int memory = 4; memory < 6; memory++) {
      int features = file.zeros("", TensorType.FLOAT32, null, 2, 3);
      int times = file.zeros("", TensorType.FLOAT32, null, 2, memory);
      int state = file.variable("", TensorType.FLOAT32, 1, 2 * memory);
      int y = file.floats("y" + memory, 1, 2);
      svdf(file, 1, ActivationFunctionType.NONE, x, features, times, -1, state, y);
      outputs.add(y);
    }
    file.graph(new int[] {x}, outputs.get(0), outputs.get(1));
    Model model = TestFiles.read(file).model();
    assertEquals("state", model.main().input(1).name());
    assertEquals(Shape.of(1, 8), model.main().input(1).shape());
    assertEquals("state 2", model.main().input(2).name());
    assertEquals(Shape.of(1, 10), model.main().input(2).shape());
    assertEquals("state 2.next", model.main().output(3).name());
  }

  @Test
  void anotherActivationIsRefused() {
    TfliteFileBuilder file = new TfliteFileBuilder();
    Quantized one = Quantized.of(1, 0);
    int x = file.tensor("x", TensorType.INT8, one, 1, 3);
    int features = file.zeros("f", TensorType.INT8, one, 2, 3);
    int times = file.zeros("t", TensorType.INT16, one, 2, 4);
    int state = file.variable("s", TensorType.INT16, one, 1, 8);
    int y = file.tensor("y", TensorType.INT8, one, 1, 2);
    svdf(file, 1, ActivationFunctionType.TANH, x, features, times, -1, state, y);
    file.graph(new int[] {x}, y);
    assertEquals(
        "operator 0 SVDF (output 'y'): it has fused activation 4; on integers there is none but"
            + " RELU",
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file)).getMessage());
  }
}
