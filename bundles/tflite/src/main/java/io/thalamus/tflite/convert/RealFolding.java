// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Shape;
import io.thalamus.tflite.file.FlatTensor;
import java.util.function.DoubleUnaryOperator;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.AddOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.DivOptions;
import org.tensorflow.lite.schema.MulOptions;
import org.tensorflow.lite.schema.SubOptions;
import org.tensorflow.lite.schema.TensorType;

/**
 * Operators over a few real numbers that are known while the model is read: models multiply sizes
 * by a factor, and round them, before they resize by them. See {@link ShapeFolding}. Stateless.
 */
final class RealFolding {
  private static final int MOST_ELEMENTS = 64;

  private RealFolding() {}

  /** An operation on two floats, rounded as floats are. */
  @FunctionalInterface
  private interface Pair {
    float of(float first, float second);
  }

  /**
   * Computes the operator, if that can be done, and lets its output stand for the result.
   *
   * @return whether that was so
   */
  static boolean compute(Node node) {
    if (node.outputCount() != 1) {
      return false;
    }
    float[] result =
        switch (node.operator().kind().code()) {
          case BuiltinOperator.CAST -> single(node, value -> value);
          case BuiltinOperator.FLOOR -> single(node, Math::floor);
          case BuiltinOperator.CEIL -> single(node, Math::ceil);
          case BuiltinOperator.ROUND -> single(node, Math::rint);
          case BuiltinOperator.RESHAPE, BuiltinOperator.SQUEEZE, BuiltinOperator.EXPAND_DIMS ->
              isReal(node.output(0)) ? single(node, value -> value) : null;
          case BuiltinOperator.ADD -> pairs(node, Float::sum);
          case BuiltinOperator.SUB -> pairs(node, (a, b) -> a - b);
          case BuiltinOperator.MUL -> pairs(node, (a, b) -> a * b);
          case BuiltinOperator.DIV -> pairs(node, (a, b) -> a / b);
          case BuiltinOperator.MAXIMUM -> pairs(node, Math::max);
          case BuiltinOperator.MINIMUM -> pairs(node, Math::min);
          default -> null;
        };
    return result != null && write(node, result);
  }

  private static boolean write(Node node, float[] values) {
    Shape written = TensorTypes.shape(node.output(0));
    boolean fits = written.isFullySpecified() && written.elementCount() == values.length;
    Shape shape = fits ? written : Shape.of(values.length);
    if (isReal(node.output(0))) {
      node.alias(0, node.float32Tensor(shape, values));
      return true;
    }
    int[] integers = new int[values.length];
    for (int i = 0; i < values.length; i++) {
      integers[i] = (int) values[i];
      if (!(Math.abs(values[i]) <= 1 << 24)) {
        return false; // from there on, floats are no longer all integers
      }
    }
    node.alias(0, node.int32Tensor(shape, integers));
    return true;
  }

  /** Returns null where the input is not known, or is too large for a size. */
  private static float[] single(Node node, DoubleUnaryOperator function) {
    if (!isReal(node.output(0)) && !isWhole(node.output(0))
        || !node.has(0)
        || !isReal(node.input(0)) && !isReal(node.output(0))) {
      return null;
    }
    float[] values = known(node, 0);
    for (int i = 0; values != null && i < values.length; i++) {
      values[i] = (float) function.applyAsDouble(values[i]);
    }
    return values;
  }

  private static float[] pairs(Node node, Pair function) {
    if (!isReal(node.output(0)) || !node.has(0) || !node.has(1) || !isPlain(node)) {
      return null;
    }
    float[] a = known(node, 0);
    float[] b = known(node, 1);
    if (a == null || b == null || a.length != b.length && a.length != 1 && b.length != 1) {
      return null;
    }
    float[] result = new float[a.length == 1 ? b.length : a.length];
    for (int i = 0; i < result.length; i++) {
      result[i] = function.of(a[a.length == 1 ? 0 : i], b[b.length == 1 ? 0 : i]);
    }
    return result;
  }

  /** Returns whether no activation follows. */
  private static boolean isPlain(Node node) {
    byte activation =
        switch (node.operator().kind().code()) {
          case BuiltinOperator.ADD ->
              node.get(node.options(new AddOptions())::fusedActivationFunction);
          case BuiltinOperator.SUB ->
              node.get(node.options(new SubOptions())::fusedActivationFunction);
          case BuiltinOperator.MUL ->
              node.get(node.options(new MulOptions())::fusedActivationFunction);
          case BuiltinOperator.DIV ->
              node.get(node.options(new DivOptions())::fusedActivationFunction);
          default -> ActivationFunctionType.NONE;
        };
    return activation == ActivationFunctionType.NONE;
  }

  /** A number or a vector of few; null otherwise. */
  private static float[] known(Node node, int input) {
    FlatTensor tensor = node.input(input);
    boolean isSmall =
        tensor.shape().length == 0
            || tensor.shape().length == 1 && tensor.shape()[0] <= MOST_ELEMENTS;
    if (!isSmall || !isReal(tensor) && !isWhole(tensor) || !node.isKnown(input)) {
      return null;
    }
    if (isReal(tensor)) {
      float[] values = node.floats(input);
      return values.length == 0 ? null : values.clone();
    }
    int[] integers = node.ints(input);
    float[] values = new float[integers.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = integers[i];
    }
    return values.length == 0 ? null : values;
  }

  private static boolean isReal(FlatTensor tensor) {
    return tensor.is(TensorType.FLOAT32);
  }

  private static boolean isWhole(FlatTensor tensor) {
    return tensor.is(TensorType.INT32) || tensor.is(TensorType.INT64);
  }
}
