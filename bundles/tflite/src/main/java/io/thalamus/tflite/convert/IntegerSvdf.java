// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.SVDFOptions;
import org.tensorflow.lite.schema.TensorType;

/**
 * SVDF on stored integers, which NNAPI has on reals only: products of integers, rescaled as
 * TensorFlow Lite does it, so that results are equal to the bit. The state has 16 bits, or 8 as in
 * TensorFlow Lite for microcontrollers; where it has a zero point, a sum beyond its 8 bits is the
 * nearest one within them, as in the kernels for Arm, and not its low bits, as in the reference.
 */
final class IntegerSvdf {
  private static final int BIAS = 3;
  private static final int STATE = 4;

  private final Node node;
  private final FlatTensor features;
  private final FlatTensor times;
  private final FlatTensor state;
  private final int rank;
  private final int batch;
  private final int size;
  private final int filters;
  private final int memory;
  private final int[] bias;

  private IntegerSvdf(Node node, int rank) {
    this.node = node;
    this.rank = rank;
    this.features = node.input(1);
    this.times = node.input(2);
    this.state = node.input(STATE);
    Shape data = matrix(node.shapeOf(0));
    Shape weights = matrix(TensorTypes.shape(features));
    this.batch = data.dimension(0);
    this.size = data.dimension(1);
    this.filters = weights.dimension(0);
    this.memory = matrix(TensorTypes.shape(times)).dimension(1);
    node.require(
        rank > 0
            && filters % rank == 0
            && weights.dimension(1) == size
            && TensorTypes.shape(times).dimension(0) == filters
            && TensorTypes.shape(state).equals(Shape.of(batch, filters * memory)),
        "its data of shape %s, weights of %s and %s, state of %s and rank %d do not fit"
            .formatted(data, weights, TensorTypes.shape(times), TensorTypes.shape(state), rank));
    node.require(
        features.isConstant() && times.isConstant() && (!node.has(BIAS) || node.isKnown(BIAS)),
        "its weights are not constant");
    node.require(
        TensorTypes.zeroPoint(features, 0) == 0 && TensorTypes.zeroPoint(times, 0) == 0,
        "its weights are not symmetric");
    this.bias = node.has(BIAS) ? node.ints(BIAS).clone() : new int[filters / rank];
    node.require(bias.length == filters / rank, "its bias has not a number for each of its units");
  }

  private Shape matrix(Shape shape) {
    node.require(
        shape.rank() == 2 && shape.isFullySpecified(),
        "it has an operand of shape " + shape + ", which is no matrix of a known size");
    return shape;
  }

  /** Returns whether all of an operator's tensors hold integers. */
  static boolean isPossible(Node node) {
    for (int input : new int[] {0, 1, 2, STATE}) {
      if (!node.has(input) || node.input(input).scales().length != 1) {
        return false;
      }
    }
    byte kept = node.input(STATE).type();
    return node.input(0).is(TensorType.INT8)
        && node.input(1).is(TensorType.INT8)
        && node.output(0).is(TensorType.INT8)
        && (kept == TensorType.INT8 || kept == TensorType.INT16)
        && node.input(2).is(kept);
  }

  /** Adds the operations of the filter. */
  static void convert(Node node) {
    SVDFOptions options = node.options(new SVDFOptions());
    byte activation = node.get(options::fusedActivationFunction);
    // TensorFlow Lite asks for RELU, which the zero point of the output is to bring about.
    node.require(
        activation == ActivationFunctionType.NONE || activation == ActivationFunctionType.RELU,
        "it has fused activation " + activation + "; on integers there is none but RELU");
    new IntegerSvdf(node, node.get(options::rank)).emit();
  }

  private void emit() {
    OperandCode type = TensorTypes.code(state);
    int latest = node.temporary(type, Shape.of(batch, filters), TensorTypes.quantization(state));
    scale(products(), node.input(0), features, state, latest);
    int next = moved(latest);
    node.model()
        .variables()
        .keep(state, Reshape.reshaped(node, next, Shape.of(batch, filters * memory)));
    scale(sums(next), state, times, node.output(0), node.out(0));
  }

  /** The inputs weighted, for each filter. */
  private int products() {
    int[] weights = node.constants().stored(features);
    byte[] turned = new byte[weights.length];
    for (int i = 0; i < weights.length; i++) {
      turned[i % size * filters + i / size] = (byte) weights[i];
    }
    int matrix =
        node.constant(
            OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
            Shape.of(size, filters),
            TensorTypes.quantization(features),
            new ConstantCopy(turned));
    return node.compute(
        ThalamusExtension.MATMUL_INTEGER,
        OperandCode.TENSOR_INT32,
        Shape.of(batch, filters),
        node.in(0),
        matrix);
  }

  /** Writes sums of products of two tensors in the scale of a third, as quotient of floats. */
  private void scale(
      int sums, FlatTensor first, FlatTensor second, FlatTensor result, int operand) {
    float product = TensorTypes.checkedScale(first, 0) * TensorTypes.checkedScale(second, 0);
    float factor = product / TensorTypes.checkedScale(result, 0);
    ScaledIntegers.emit(node, sums, ScaledIntegers.factor(factor), operand);
  }

  /** The memory of each filter without its first value, and with the latest one at its end. */
  private int moved(int latest) {
    int column = Reshape.reshaped(node, latest, Shape.of(batch * filters, 1));
    if (memory == 1) {
      return column;
    }
    int kept = node.model().variables().keptAsStored(node, state);
    Shape shape = Shape.of(batch * filters, memory - 1);
    int rest = node.temporary(node.operand(kept), shape);
    Strided.emit(node, kept, shape, 1, new long[] {memory, 1}, rest);
    return node.compute(
        ThalamusExtension.CONCATENATION,
        node.operand(column),
        Shape.of(batch * filters, memory),
        rest,
        column,
        node.int32(1));
  }

  /** The memories weighted by time, of all filters of a unit. */
  private int sums(int next) {
    int zeroPoint = TensorTypes.zeroPoint(state, 0);
    int units = filters / rank;
    int width = rank * memory;
    int[] weights = node.constants().stored(times);
    for (int i = 0; i < weights.length; i++) {
      bias[i / width] -= zeroPoint * weights[i];
    }
    int wide =
        node.compute(
            ThalamusExtension.CAST, OperandCode.TENSOR_INT32, node.operand(next).shape(), next);
    int first = Reshape.reshaped(node, wide, Shape.of(batch, units, 1, width));
    int sums =
        node.compute(
            ThalamusExtension.BATCH_MATMUL,
            OperandCode.TENSOR_INT32,
            Shape.of(batch, units, 1, 1),
            first,
            node.int32Tensor(Shape.of(1, units, width, 1), weights),
            node.bool(false),
            node.bool(false));
    return node.compute(
        OperationCode.ADD,
        OperandCode.TENSOR_INT32,
        Shape.of(batch, units),
        Reshape.reshaped(node, sums, Shape.of(batch, units)),
        node.int32Vector(bias));
  }
}
