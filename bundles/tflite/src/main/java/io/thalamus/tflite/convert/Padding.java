// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.Rearrange;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.MirrorPadMode;
import org.tensorflow.lite.schema.MirrorPadOptions;

/**
 * Margins around a tensor. NNAPI's own PAD takes reals, of up to four dimensions, and numbers that
 * are known; other margins are joined to the data, one axis after the other.
 */
final class Padding {
  private Padding() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.PAD, Padding::pad);
    table.add(BuiltinOperator.PADV2, Padding::padWithValue);
    table.add(BuiltinOperator.MIRROR_PAD, Padding::mirrorPad);
  }

  private static void pad(Node node) {
    Operand data = node.inOperand(0);
    if (Strided.isBeyond(data)) {
      int[] margins = node.ints(1);
      join(node, node.in(0), margins, zero(node, data), node.out(0));
      return;
    }
    node.emit(OperationCode.PAD, List.of(node.in(0), margins(node, 1)), node.out(0));
  }

  /** One element that stands for 0. */
  static int zero(Node node, Operand data) {
    return Truths.element(node, data, data.quantization().zeroPoint());
  }

  private static void padWithValue(Node node) {
    if (!node.has(2)) {
      pad(node);
      return;
    }
    Operand data = node.inOperand(0);
    if (Strided.isBeyond(data) || !node.input(2).isConstant()) {
      Operand value = node.inOperand(2);
      node.require(
          value.shape().isFullySpecified() && value.shape().elementCount() == 1,
          node.input(2).text() + " is not one number");
      int element = Reshape.reshaped(node, node.in(2), Shape.of(1));
      join(node, node.in(0), node.ints(1), element, node.out(0));
      return;
    }
    int margins = margins(node, 1);
    node.emit(OperationCode.PAD_V2, List.of(node.in(0), margins, value(node, data)), node.out(0));
  }

  /** NNAPI 1.3 has no mirrors; the extension io.thalamus has. */
  private static void mirrorPad(Node node) {
    MirrorPadOptions options = node.options(new MirrorPadOptions());
    byte mode = node.get(options::mode);
    node.require(
        mode == MirrorPadMode.REFLECT || mode == MirrorPadMode.SYMMETRIC,
        "there is no mirror mode " + mode);
    int turned = mode == MirrorPadMode.REFLECT ? Rearrange.REFLECT : Rearrange.SYMMETRIC;
    node.emit(
        ThalamusExtension.MIRROR_PAD,
        List.of(node.in(0), margins(node, 1), node.int32(turned)),
        node.out(0));
  }

  /** The number that fills: stored, or as a real beside reals. */
  private static int value(Node node, Operand data) {
    FlatTensor tensor = node.input(2);
    node.require(
        tensor.isConstant() && node.constants().elementCount(tensor) == 1,
        tensor.text() + " is not one constant number");
    float real =
        FloatFallback.isQuantized8(data) || !tensor.is8Bit()
            ? node.constants().floatValues(tensor)[0]
            : Float.NaN;
    if (FloatFallback.isQuantized8(data)) {
      Quantization quantization = data.quantization();
      return node.int32(Math.round(real / quantization.scale()) + quantization.zeroPoint());
    }
    return node.floatFor(data, real);
  }

  /** Rows of before and after, one for each dimension, as a constant of 32-bit integers. */
  private static int margins(Node node, int input) {
    return node.isKnown(input) ? matrix(node, node.ints(input)) : node.in(input);
  }

  static int matrix(Node node, int... values) {
    node.require(values.length % 2 == 0, "its margins are not pairs");
    return node.int32Tensor(Shape.of(values.length / 2, 2), values);
  }

  /** Joins so many of an element to the data before and after, along each axis. */
  static void join(Node node, int input, int[] margins, int element, int output) {
    Shape shape = node.operand(input).shape();
    node.require(
        shape.isFullySpecified()
            && margins.length == 2 * shape.rank()
            && Arrays.stream(margins).allMatch(margin -> margin >= 0),
        "its margins " + Arrays.toString(margins) + " do not fit data of shape " + shape);
    int part = input;
    for (int axis = 0; axis < shape.rank(); axis++) {
      int before = margins[2 * axis];
      int after = margins[2 * axis + 1];
      if (before == 0 && after == 0) {
        continue;
      }
      List<Integer> parts = new ArrayList<>();
      if (before > 0) {
        parts.add(repeated(node, element, shape.with(axis, before)));
      }
      parts.add(part);
      if (after > 0) {
        parts.add(repeated(node, element, shape.with(axis, after)));
      }
      parts.add(node.int32(axis));
      int size = Math.addExact(shape.dimension(axis), Math.addExact(before, after));
      shape = shape.with(axis, size);
      part = node.temporary(node.operand(input), shape);
      node.emit(ThalamusExtension.CONCATENATION, parts, part);
    }
    node.builder().reshape(output, shape);
    Reshape.emit(node, part, output);
  }

  private static int repeated(Node node, int element, Shape shape) {
    int all = node.temporary(node.operand(element), shape);
    Strided.broadcast(node, element, shape, all);
    return all;
  }
}
