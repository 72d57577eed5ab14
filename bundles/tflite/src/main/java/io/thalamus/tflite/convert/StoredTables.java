// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import java.util.function.Consumer;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.TensorType;

/**
 * Functions that TensorFlow Lite computes of stored integers, where they are other than those of
 * the real numbers: a constant holds the result for each integer that there is.
 */
final class StoredTables {
  private static final int VALUES = 256;
  private static final int WIDE_VALUES = 1 << Short.SIZE;
  private static final int STEPS = 512;
  private static final int PART_BITS = 7;
  private static final int PARTS = 1 << PART_BITS;
  private static final int COMPARED_BITS = 8;

  /** The least scale with which numbers stay apart when they are compared. */
  private static final float FINE = 2f / (1 << COMPARED_BITS);

  private StoredTables() {}

  /** TensorFlow Lite scales the whole number, and rounds it twice. */
  static void absolute(Node node) {
    int input = node.in(0);
    Operand data = node.operand(input);
    if (!FloatFallback.isQuantized8(data) || !node.output(0).is8Bit()) {
      node.emit(OperationCode.ABS, node.out(0), input);
      return;
    }
    int output = node.out(0);
    Operand result = node.operand(output);
    float from = data.quantization().scale();
    float to = result.quantization().scale();
    Requantization factor = Requantization.of(from / to, Requantization.Rounding.DOUBLE);
    IntRange range = IntRange.of((OperandCode) result.type());
    int[] stored =
        ofEach(
            data,
            number -> {
              int size = from == to ? Math.abs(number) : factor.apply(Math.abs(number));
              return Math.clamp(size + result.quantization().zeroPoint(), range.min(), range.max());
            });
    byte[] table = new byte[VALUES];
    for (int i = 0; i < VALUES; i++) {
      table[i] = (byte) stored[i];
    }
    int places = places(node, input);
    int values = node.constant(result, Shape.of(VALUES), new ConstantCopy(table));
    node.emit(OperationCode.GATHER, output, values, node.int32(0), places);
  }

  /**
   * Adds a comparison of integers, if it is another than that of the real numbers: TensorFlow Lite
   * rounds these to a 256th.
   *
   * @return whether that was so
   */
  static boolean compare(Node node, OperationType comparison) {
    if (!node.output(0).is(TensorType.BOOL)
        || !FloatFallback.isQuantized(node.input(0))
        || !FloatFallback.isQuantized(node.input(1))) {
      return false;
    }
    int first = node.in(0);
    int second = node.in(1);
    Quantization quantization = node.operand(first).quantization();
    if (!FloatFallback.isQuantized8(node.operand(first))
        || quantization.equals(node.operand(second).quantization())
            && quantization.scale() >= FINE) {
      return false;
    }
    node.emit(comparison, node.out(0), compared(node, first), compared(node, second));
    return true;
  }

  private static int compared(Node node, int input) {
    Operand data = node.operand(input);
    Requantization factor =
        Requantization.of(data.quantization().scale(), Requantization.Rounding.DOUBLE);
    int[] values = ofEach(data, number -> factor.apply(number << COMPARED_BITS));
    int places = places(node, input);
    int table = node.int32Vector(values);
    return node.compute(OperationCode.GATHER, places, table, node.int32(0), places);
  }

  /** What a function gives for each stored integer without its zero point, the least one first. */
  private static int[] ofEach(Operand data, IntUnaryOperator function) {
    int first = IntRange.of((OperandCode) data.type()).min() - data.quantization().zeroPoint();
    return IntStream.range(first, first + VALUES).map(function).toArray();
  }

  /** The places of stored integers in such a table. */
  private static int places(Node node, int input) {
    Operand data = node.operand(input);
    int places =
        node.compute(ThalamusExtension.CAST, OperandCode.TENSOR_INT32, data.shape(), input);
    int first = IntRange.of((OperandCode) data.type()).min();
    return first == 0
        ? places
        : node.compute(OperationCode.ADD, places, places, node.int32Vector(-first));
  }

  /** A function of one number, which may tell apart what no result of a scale stands for. */
  @FunctionalInterface
  interface WideFunction {
    double at(double value, float scale);
  }

  /**
   * A function of one number, which TensorFlow Lite interpolates between 513 results for integers
   * of 16 bits.
   *
   * @param function is also given the scale of its results
   */
  static Consumer<Node> function(OperationCode code, WideFunction function) {
    return node -> {
      FlatTensor from = node.input(0);
      FlatTensor to = node.output(0);
      if (!Wide16.isQuantized(from) || !Wide16.isQuantized(to)) {
        node.emit(code, node.out(0), node.in(0));
        return;
      }
      node.require(
          Wide16.zeroPoint(from) == 0 && Wide16.zeroPoint(to) == 0,
          "it has a zero point, which TensorFlow Lite's table does not know");
      float scale = Wide16.scale(to);
      float[] table = node.constants().room(WIDE_VALUES, to);
      short[] results = results(Wide16.scale(from), scale, function);
      for (int i = 0; i < WIDE_VALUES; i++) {
        int place = i >> PART_BITS;
        int step = (short) (results[place + 1] - results[place]) * (i & PARTS - 1);
        table[i] = scale * (short) (results[place] + (step + PARTS / 2 >> PART_BITS));
      }
      int places = Wide16.places(node.graph(), from, node.in(0));
      int output = node.out(0);
      int values =
          node.constant(
              node.operand(output), Shape.of(WIDE_VALUES), node.constants().of(table, to));
      node.emit(OperationCode.GATHER, output, values, node.int32(0), places);
    };
  }

  /** The results at 513 places, moved so that the line between two is right at its middle too. */
  private static short[] results(float from, float to, WideFunction function) {
    float first = from * Short.MIN_VALUE;
    float last = from * Short.MAX_VALUE;
    float step = (last - first) / STEPS;
    float factor = WIDE_VALUES / (to * Short.MAX_VALUE - to * Short.MIN_VALUE);
    short[] results = new short[STEPS + 1];
    for (int i = 0; i < STEPS; i++) {
      float place = first + i * step;
      float own = scaled(function, place, to, factor);
      float next = scaled(function, first + (i + 1) * step, to, factor);
      float between = rounded((next + rounded(own)) / 2);
      float middle = rounded(scaled(function, place + step / 2, to, factor));
      results[i] = stored(rounded(own) - rounded((between - middle) / 2));
    }
    results[STEPS] = stored(rounded(scaled(function, last, to, factor)));
    return results;
  }

  private static float scaled(WideFunction function, float value, float to, float factor) {
    return (float) function.at(value, to) * factor;
  }

  private static float rounded(float value) {
    return Math.copySign((float) Math.floor(Math.abs(value) + 0.5), value);
  }

  private static short stored(float value) {
    return (short) Math.clamp(value, Short.MIN_VALUE, Short.MAX_VALUE);
  }
}
