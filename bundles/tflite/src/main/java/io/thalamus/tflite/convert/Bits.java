// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tensorflow.lite.schema.TensorType;

/**
 * Operators on the bits of integers. Those of 8 and 16 bits are computed with 32, and keep the low
 * ones.
 */
final class Bits {
  private static final int MAX_RANK = 4;

  private Bits() {}

  /** The differences of bits; truth values have one. */
  static void differences(Node node) {
    if (node.input(0).is(TensorType.BOOL)) {
      node.emit(OperationCode.NOT_EQUAL, node.out(0), node.in(0), node.in(1));
      return;
    }
    pair(node, ThalamusExtension.BITWISE_XOR);
  }

  static void rightShift(Node node) {
    if (!Unsigned.convert(node, ThalamusExtension.RIGHT_SHIFT)) {
      pair(node, ThalamusExtension.RIGHT_SHIFT);
    }
  }

  /** Returns whether NNAPI has fewer operations on a tensor than on 32-bit integers. */
  static boolean isSmall(FlatTensor tensor) {
    return tensor.is(TensorType.BOOL) || tensor.is8Bit() && tensor.scales().length == 0;
  }

  /** Returns whether an operator may be one on the 32-bit integers that its tensors hold. */
  static boolean mayBeWhole(Node node) {
    boolean anySmall = false;
    for (int i = 0; i < node.inputCount(); i++) {
      anySmall |= node.has(i) && isSmall(node.input(i));
    }
    for (int i = 0; i < node.outputCount(); i++) {
      anySmall |= isSmall(node.output(i));
    }
    return anySmall && !FloatFallback.STORED.contains(node.operator().kind().code());
  }

  /** Writes 32-bit integers into a tensor of 8 bits or of truth values. */
  static void store(Node node, int whole, int output) {
    if (node.operand(output).type() == OperandCode.TENSOR_BOOL8) {
      node.emit(OperationCode.NOT_EQUAL, output, whole, node.int32Vector(0));
    } else {
      node.emit(ThalamusExtension.CAST, output, whole);
    }
  }

  private static void pair(Node node, OperationType operation) {
    if (!node.output(0).is8Bit()) {
      node.emit(operation, node.out(0), node.in(0), node.in(1));
      return;
    }
    int first = whole(node, 0);
    int result = node.compute(operation, first, first, whole(node, 1));
    node.emit(ThalamusExtension.CAST, node.out(0), result);
  }

  /** An input as INT32. */
  private static int whole(Node node, int input) {
    int operand = node.in(input);
    return node.operand(operand).type() == OperandCode.TENSOR_INT32
        ? operand
        : converted(node, operand, OperandCode.TENSOR_INT32);
  }

  /** An operand of integers, or truth values, cast to integers of another width. */
  static int converted(Node node, int operand, OperandCode type) {
    Quantization quantization =
        type == OperandCode.TENSOR_INT32 ? Quantization.NONE : Quantization.of(1, 0);
    int result = node.temporary(type, node.operand(operand).shape(), quantization);
    node.emit(ThalamusExtension.CAST, result, operand);
    return result;
  }

  /** The low bits of INT32 that a tensor of 16 bits keeps, as INT32. */
  static int kept(Node node, int operand, FlatTensor tensor) {
    boolean isSigned = tensor.is(TensorType.INT16);
    Shape shape = node.operand(operand).shape();
    boolean isBeyond = shape.rank() > MAX_RANK && shape.isFullySpecified();
    int row =
        isBeyond
            ? Reshape.reshaped(node, operand, Shape.of(Math.toIntExact(shape.elementCount())))
            : operand;
    int small =
        converted(
            node,
            row,
            isSigned ? OperandCode.TENSOR_QUANT16_SYMM : OperandCode.TENSOR_QUANT16_ASYMM);
    int whole = converted(node, small, OperandCode.TENSOR_INT32);
    return isBeyond ? Reshape.reshaped(node, whole, shape) : whole;
  }

  /**
   * Adds what CAST is where one of the types is held by another.
   *
   * @return whether it was so
   */
  static boolean castsByBits(Node node) {
    FlatTensor from = node.input(0);
    FlatTensor to = node.output(0);
    boolean isWhole = node.inOperand(0).type() == OperandCode.TENSOR_INT32;
    if (TensorTypes.isPlain16(to) && from.type() != to.type()) {
      node.alias(0, kept(node, whole(node, 0), to));
      return true;
    }
    if (Unsigned.is(to) && node.inOperand(0).type() == OperandCode.TENSOR_FLOAT32) {
      node.alias(0, Unsigned.ofReals(node, node.in(0)));
      return true;
    }
    if (!Unsigned.is(from)) {
      return false;
    }
    if (TensorTypes.code(to) == OperandCode.TENSOR_FLOAT32) {
      node.alias(0, Unsigned.reals(node, node.in(0)));
      return true;
    }
    if (isWhole && (to.is(TensorType.INT64) || to.is(TensorType.UINT64))) {
      node.alias(0, Unsigned.signed(node, node.in(0)));
      return true;
    }
    return false;
  }

  /**
   * BITCAST: of fewer bits in an element, there are more along a last dimension. Of 64 bits, the
   * upper ones are copies of the sign, since all integers are within 32.
   */
  static void cast(Node node) {
    FlatTensor from = node.input(0);
    FlatTensor to = node.output(0);
    int input = node.in(0);
    int many = size(node, from);
    int few = size(node, to);
    int whole =
        node.operand(input).type() == OperandCode.TENSOR_FLOAT32
            ? changed(node, input, OperandCode.TENSOR_INT32)
            : whole(node, 0);
    if (many < few) {
      node.require(few <= Integer.BYTES, "it casts bits to " + to.typeName());
      whole = joined(node, whole, many, few);
    }
    if (many > few) {
      apart(node, whole, many / few, few);
      return;
    }
    node.alias(0, held(node, whole, to));
  }

  private static int size(Node node, FlatTensor tensor) {
    int size = TensorTypes.elementSize(tensor);
    node.require(
        (size <= Integer.BYTES || tensor.is(TensorType.INT64))
            && !tensor.is(TensorType.FLOAT16)
            && !tensor.is(TensorType.BOOL)
            && !tensor.isPacked(),
        "it casts bits of " + tensor.typeName());
    return size;
  }

  private static int changed(Node node, int operand, OperandCode type) {
    return node.compute(ThalamusExtension.BITCAST, type, node.operand(operand).shape(), operand);
  }

  /** The low bits of INT32 in the type that holds a tensor. */
  private static int held(Node node, int whole, FlatTensor tensor) {
    if (TensorTypes.isPlain16(tensor)) {
      return kept(node, whole, tensor);
    }
    OperandCode type = TensorTypes.code(tensor);
    if (type == OperandCode.TENSOR_INT32) {
      return whole;
    }
    return type == OperandCode.TENSOR_FLOAT32
        ? changed(node, whole, type)
        : converted(node, whole, type);
  }

  private static void apart(Node node, int whole, int parts, int size) {
    List<Integer> inputs = new ArrayList<>();
    int rank = node.isScalar(node.input(0)) ? 0 : node.operand(whole).shape().rank();
    for (int i = 0; i < parts; i++) {
      int by = node.int32Vector(Math.min(i * size * Byte.SIZE, Integer.SIZE - 1));
      int moved = node.compute(ThalamusExtension.RIGHT_SHIFT, whole, whole, by);
      inputs.add(held(node, moved, node.output(0)));
    }
    if (rank == 0) {
      inputs.add(node.int32(0));
      node.emit(ThalamusExtension.CONCATENATION, inputs, node.out(0));
      return;
    }
    inputs.addFirst(node.int32(rank));
    node.emit(ThalamusExtension.PACK, inputs, node.out(0));
  }

  private static int joined(Node node, int whole, int size, int all) {
    Operand source = node.operand(whole);
    Shape shape = source.shape();
    int parts = all / size;
    node.require(
        shape.isFullySpecified() && shape.dimension(shape.rank() - 1) == parts,
        "it joins elements of the shape " + shape);
    int[] rest = Arrays.copyOf(shape.toArray(), shape.rank() - 1);
    Shape result = rest.length == 0 ? Shape.of(1) : Shape.of(rest);
    long[] strides = StridedCopy.strides(result);
    Arrays.setAll(strides, i -> strides[i] * parts);
    int sum = -1;
    for (int i = 0; i < parts; i++) {
      int part = node.temporary(source, result);
      Strided.emit(node, whole, result, i, strides, part);
      int low = low(node, part, size);
      int factor = node.int32Vector(1 << i * size * Byte.SIZE);
      int moved = node.compute(OperationCode.MUL, low, low, factor);
      sum = sum < 0 ? moved : node.compute(OperationCode.ADD, sum, sum, moved);
    }
    return sum;
  }

  /** The low bits without a sign. */
  private static int low(Node node, int part, int size) {
    OperandCode type =
        size == 1 ? OperandCode.TENSOR_QUANT8_ASYMM : OperandCode.TENSOR_QUANT16_ASYMM;
    return converted(node, converted(node, part, type), OperandCode.TENSOR_INT32);
  }
}
