// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import io.thalamus.tflite.file.Refusal;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;

/**
 * Activations quantized to 16 bits, which NNAPI's operations do not take: graphs compute with the
 * real numbers that they stand for, rounded to their grid wherever the file has them rounded. A
 * float tells all 65,536 of them apart, and the integers themselves occur at the borders only.
 */
final class Wide16 {
  private static final int NO_ACTIVATION = 0;
  private static final int FACTOR_BITS = 31;
  private static final int DROPPED_BITS = 16;
  private static final int MAX_RANK = 4;

  /** Operators whose results are among their inputs. */
  private static final Set<Integer> MOVES =
      Set.of(
          BuiltinOperator.BATCH_TO_SPACE_ND,
          BuiltinOperator.CONCATENATION,
          BuiltinOperator.DEPTH_TO_SPACE,
          BuiltinOperator.EXPAND_DIMS,
          BuiltinOperator.GATHER,
          BuiltinOperator.MAX_POOL_2D,
          BuiltinOperator.PACK,
          BuiltinOperator.PAD,
          BuiltinOperator.RELU,
          BuiltinOperator.RESHAPE,
          BuiltinOperator.RESIZE_NEAREST_NEIGHBOR,
          BuiltinOperator.SLICE,
          BuiltinOperator.SPACE_TO_BATCH_ND,
          BuiltinOperator.SPACE_TO_DEPTH,
          BuiltinOperator.SPLIT,
          BuiltinOperator.SPLIT_V,
          BuiltinOperator.SQUEEZE,
          BuiltinOperator.STRIDED_SLICE,
          BuiltinOperator.TILE,
          BuiltinOperator.TRANSPOSE,
          BuiltinOperator.UNPACK);

  private Wide16() {}

  /** Returns whether a tensor is quantized to 16 bits. */
  static boolean isQuantized(FlatTensor tensor) {
    return tensor.is(TensorType.INT16) && tensor.scales().length > 0;
  }

  /** Returns whether an operator gives an output on the grid without being rounded. */
  static boolean isOnGrid(Node node, FlatTensor output) {
    if (!MOVES.contains(node.operator().kind().code())) {
      return false;
    }
    for (int i = 0; i < node.inputCount(); i++) {
      if (node.has(i)
          && isQuantized(node.input(i))
          && (scale(node.input(i)) != scale(output)
              || zeroPoint(node.input(i)) != zeroPoint(output))) {
        return false;
      }
    }
    return true;
  }

  static float scale(FlatTensor tensor) {
    return TensorTypes.checkedScale(tensor, 0);
  }

  /** The stored integer of 0, which NNAPI does not have at the borders of a graph. */
  static int zeroPoint(FlatTensor tensor) {
    long zeroPoint = tensor.zeroPoints().length == 0 ? 0 : tensor.zeroPoints()[0];
    if (zeroPoint != (short) zeroPoint) {
      throw new Refusal(tensor.text() + " has zero point " + zeroPoint + ", outside of INT16");
    }
    return (int) zeroPoint;
  }

  /**
   * Returns by how much TensorFlow Lite's sums of products are larger than they should be, for each
   * scale of the weights: beside a bias of 64 bits, the factor that leads from a sum to its stored
   * result has 15 bits.
   */
  static double[] roundings(
      Node node, FlatTensor data, FlatTensor filter, Optional<FlatTensor> bias) {
    double[] roundings = new double[filter.scales().length];
    boolean isNarrow = bias.map(values -> values.is(TensorType.INT64)).orElse(true);
    for (int i = 0; i < roundings.length; i++) {
      double factor =
          (double) scale(data) * TensorTypes.checkedScale(filter, i) / scale(node.output(0));
      int exponent = Math.getExponent(factor) + 1;
      long bits = Math.round(Math.scalb(factor, FACTOR_BITS - exponent));
      long most = (1L << DROPPED_BITS - 1) - 1;
      long kept = Math.min(bits + (1L << DROPPED_BITS - 1) >> DROPPED_BITS, most);
      double used = Math.scalb((double) kept, exponent - (FACTOR_BITS - DROPPED_BITS));
      roundings[i] = isNarrow ? used / factor : 1;
    }
    return roundings;
  }

  /** Returns the real numbers of an operand as it stands at a border, or of its integers. */
  static int real(GraphConverter graph, FlatTensor tensor, int stored) {
    int number = graph.compute(ThalamusExtension.CAST, OperandCode.TENSOR_FLOAT32, List.of(stored));
    int steps = moved(graph, flat(graph, number), -zeroPoint(tensor));
    return inShape(graph, times(graph, steps, scale(tensor)), graph.shape(number));
  }

  /** Returns real numbers rounded to the grid of a tensor. */
  static int rounded(GraphConverter graph, FlatTensor tensor, int real) {
    int steps = steps(graph, tensor, flat(graph, real));
    return inShape(graph, times(graph, steps, scale(tensor)), graph.shape(real));
  }

  /** Returns real numbers as an operand at a border has them. */
  static int stored(GraphConverter graph, FlatTensor tensor, int real, String name) {
    TensorTypes.zeroPoint(tensor, 0);
    int steps = inShape(graph, steps(graph, tensor, flat(graph, real)), graph.shape(real));
    int output = graph.output(OperandCode.TENSOR_QUANT16_SYMM, steps, scale(tensor), name);
    graph.emit(ThalamusExtension.CAST, List.of(steps), List.of(output));
    return output;
  }

  /** A row of the numbers of an operand that has more dimensions than NNAPI's arithmetic takes. */
  private static int flat(GraphConverter graph, int operand) {
    Shape shape = graph.shape(operand);
    return shape.rank() > MAX_RANK && shape.isFullySpecified()
        ? inShape(graph, operand, Shape.of(Math.toIntExact(shape.elementCount())))
        : operand;
  }

  private static int inShape(GraphConverter graph, int operand, Shape shape) {
    if (graph.shape(operand).equals(shape)) {
      return operand;
    }
    long[] strides = StridedCopy.strides(shape);
    int result =
        graph.builder().temporary("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.emit(
        ThalamusExtension.AS_STRIDED,
        List.of(
            operand,
            graph.builder().int32Vector(shape.toArray()),
            graph
                .builder()
                .int32Vector(Arrays.stream(strides).mapToInt(Math::toIntExact).toArray()),
            graph.builder().int32(0)),
        List.of(result));
    return result;
  }

  /** Returns the places of real numbers in a table of all stored ones, the least one first. */
  static int places(GraphConverter graph, FlatTensor tensor, int real) {
    int steps = steps(graph, tensor, flat(graph, real));
    int places = moved(graph, steps, zeroPoint(tensor) - Short.MIN_VALUE);
    int shaped = inShape(graph, places, graph.shape(real));
    return graph.compute(OperationCode.CAST, OperandCode.TENSOR_INT32, List.of(shaped));
  }

  /** Returns the stored integers of real numbers without their zero point, as INT32. */
  static int integers(GraphConverter graph, FlatTensor tensor, int real) {
    int steps = inShape(graph, steps(graph, tensor, flat(graph, real)), graph.shape(real));
    return graph.compute(OperationCode.CAST, OperandCode.TENSOR_INT32, List.of(steps));
  }

  /** Counts the steps of the grid from 0, as whole numbers that 16 bits hold. */
  private static int steps(GraphConverter graph, FlatTensor tensor, int real) {
    int scaled = times(graph, real, (float) (1 / (double) scale(tensor)));
    int moved = moved(graph, scaled, 0.5f);
    int whole = graph.compute(OperationCode.FLOOR, OperandCode.TENSOR_FLOAT32, List.of(moved));
    int most = number(graph, Short.MAX_VALUE - zeroPoint(tensor));
    int least = number(graph, Short.MIN_VALUE - zeroPoint(tensor));
    int below = compute(graph, OperationCode.MINIMUM, whole, most);
    return compute(graph, OperationCode.MAXIMUM, below, least);
  }

  private static int moved(GraphConverter graph, int operand, float by) {
    return by == 0
        ? operand
        : compute(
            graph,
            OperationCode.ADD,
            operand,
            number(graph, by),
            graph.builder().int32(NO_ACTIVATION));
  }

  private static int times(GraphConverter graph, int operand, float factor) {
    return compute(
        graph,
        OperationCode.MUL,
        operand,
        number(graph, factor),
        graph.builder().int32(NO_ACTIVATION));
  }

  private static int number(GraphConverter graph, float value) {
    byte[] element = Constants.element(OperandCode.TENSOR_FLOAT32, value);
    return graph
        .builder()
        .constant(
            "",
            OperandCode.TENSOR_FLOAT32,
            Shape.of(1),
            Quantization.NONE,
            new ConstantCopy(element));
  }

  private static int compute(GraphConverter graph, OperationCode code, Integer... inputs) {
    return graph.compute(code, OperandCode.TENSOR_FLOAT32, List.of(inputs));
  }
}
