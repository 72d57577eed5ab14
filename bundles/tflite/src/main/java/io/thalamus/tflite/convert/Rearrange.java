// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.ConcatenationOptions;
import org.tensorflow.lite.schema.DepthToSpaceOptions;
import org.tensorflow.lite.schema.MirrorPadMode;
import org.tensorflow.lite.schema.MirrorPadOptions;
import org.tensorflow.lite.schema.SpaceToDepthOptions;

/** Operators that move elements: join, transpose, repeat, pad, and blocks of space. */
final class Rearrange {
  private Rearrange() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.CONCATENATION, Rearrange::concatenation);
    table.add(BuiltinOperator.TRANSPOSE, Rearrange::transpose);
    table.add(BuiltinOperator.TILE, Rearrange::tile);
    table.add(BuiltinOperator.PAD, Rearrange::pad);
    table.add(BuiltinOperator.PADV2, Rearrange::padWithValue);
    table.add(BuiltinOperator.MIRROR_PAD, Rearrange::mirrorPad);
    table.add(BuiltinOperator.REVERSE_V2, Rearrange::reverse);
    table.add(BuiltinOperator.SPACE_TO_DEPTH, Rearrange::spaceToDepth);
    table.add(BuiltinOperator.DEPTH_TO_SPACE, Rearrange::depthToSpace);
    table.add(BuiltinOperator.SPACE_TO_BATCH_ND, Rearrange::spaceToBatch);
    table.add(BuiltinOperator.BATCH_TO_SPACE_ND, Rearrange::batchToSpace);
  }

  private static void concatenation(Node node) throws ModelFormatException {
    ConcatenationOptions options =
        node.options(BuiltinOptions.ConcatenationOptions, new ConcatenationOptions());
    List<Integer> inputs = new ArrayList<>();
    for (int i = 0; i < node.inputCount(); i++) {
      inputs.add(node.in(i));
    }
    int axis = node.axis(node.get(options::axis), node.shapeOf(0).rank());
    inputs.add(node.int32(axis));
    node.emitActivated(
        node.get(options::fusedActivationFunction),
        output -> node.emit(OperationCode.CONCATENATION, inputs, output));
  }

  private static void transpose(Node node) throws ModelFormatException {
    int[] permutation = node.ints(1);
    int rank = node.shapeOf(0).rank();
    for (int i = 0; i < permutation.length; i++) {
      permutation[i] = node.axis(permutation[i], rank);
    }
    node.emit(
        OperationCode.TRANSPOSE, List.of(node.in(0), node.int32Vector(permutation)), node.out(0));
  }

  private static void tile(Node node) throws ModelFormatException {
    int repeats = node.input(1).isConstant() ? node.int32Vector(node.ints(1)) : node.in(1);
    node.emit(OperationCode.TILE, List.of(node.in(0), repeats), node.out(0));
  }

  private static void pad(Node node) throws ModelFormatException {
    node.emit(OperationCode.PAD, List.of(node.in(0), margins(node, 1)), node.out(0));
  }

  private static void padWithValue(Node node) throws ModelFormatException {
    Operand data = node.inOperand(0);
    int margins = margins(node, 1);
    if (!node.has(2)) {
      node.emit(OperationCode.PAD, List.of(node.in(0), margins), node.out(0));
      return;
    }
    node.emit(OperationCode.PAD_V2, List.of(node.in(0), margins, value(node, data)), node.out(0));
  }

  /** NNAPI 1.3 has no mirrors; the extension io.thalamus has. */
  private static void mirrorPad(Node node) throws ModelFormatException {
    MirrorPadOptions options =
        node.options(BuiltinOptions.MirrorPadOptions, new MirrorPadOptions());
    byte mode = node.get(options::mode);
    node.require(
        mode == MirrorPadMode.REFLECT || mode == MirrorPadMode.SYMMETRIC,
        "there is no mirror mode " + mode);
    int turned =
        mode == MirrorPadMode.REFLECT
            ? io.thalamus.operations.extension.Rearrange.REFLECT
            : io.thalamus.operations.extension.Rearrange.SYMMETRIC;
    node.emit(
        ThalamusExtension.MIRROR_PAD,
        List.of(node.in(0), margins(node, 1), node.int32(turned)),
        node.out(0));
  }

  /** Neither can NNAPI 1.3 turn data round; the extension io.thalamus can. */
  private static void reverse(Node node) throws ModelFormatException {
    int axes = node.input(1).isConstant() ? node.int32Vector(node.ints(1)) : node.in(1);
    node.emit(ThalamusExtension.REVERSE, List.of(node.in(0), axes), node.out(0));
  }

  /** NNAPI takes the value as a scalar; for quantized data as a stored integer. */
  private static int value(Node node, Operand data) throws ModelFormatException {
    FlatTensor tensor = node.input(2);
    node.require(
        tensor.isConstant() && node.constants().elementCount(tensor) == 1,
        tensor.text() + " is not one constant number");
    float real =
        InFloat.isQuantized8(data) || !tensor.is8Bit()
            ? node.constants().floatValues(tensor)[0]
            : Float.NaN;
    if (InFloat.isQuantized8(data)) {
      Quantization quantization = data.quantization();
      return node.int32(Math.round(real / quantization.scale()) + quantization.zeroPoint());
    }
    return node.floatFor(data, real);
  }

  /** Rows of before and after, one for each dimension, as a constant of 32-bit integers. */
  private static int margins(Node node, int input) throws ModelFormatException {
    if (!node.input(input).isConstant()) {
      return node.in(input);
    }
    return matrix(node, node.ints(input));
  }

  private static int matrix(Node node, int... values) throws ModelFormatException {
    node.require(values.length % 2 == 0, "its margins are not pairs");
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    Arrays.stream(values).forEach(bytes::putInt);
    return node.builder()
        .constant(
            "",
            OperandCode.TENSOR_INT32,
            Shape.of(values.length / 2, 2),
            Quantization.NONE,
            new ConstantCopy(bytes.array()));
  }

  private static void spaceToDepth(Node node) throws ModelFormatException {
    SpaceToDepthOptions options =
        node.options(BuiltinOptions.SpaceToDepthOptions, new SpaceToDepthOptions());
    int block = node.int32(node.get(options::blockSize));
    node.emit(OperationCode.SPACE_TO_DEPTH, List.of(node.in(0), block), node.out(0));
  }

  private static void depthToSpace(Node node) throws ModelFormatException {
    DepthToSpaceOptions options =
        node.options(BuiltinOptions.DepthToSpaceOptions, new DepthToSpaceOptions());
    int block = node.int32(node.get(options::blockSize));
    node.emit(OperationCode.DEPTH_TO_SPACE, List.of(node.in(0), block), node.out(0));
  }

  /** Of images; data with one spatial dimension pass as images of width 1. */
  private static void spaceToBatch(Node node) throws ModelFormatException {
    int[] block = node.ints(1);
    int[] margins = node.ints(2);
    node.require(
        node.shapeOf(0).rank() == 4 && block.length == 2 && margins.length == 4,
        "NNAPI moves blocks of images only, with 4 dimensions");
    node.emit(
        OperationCode.SPACE_TO_BATCH_ND,
        List.of(node.in(0), node.int32Vector(block), matrix(node, margins)),
        node.out(0));
  }

  /** NNAPI does not crop: what is too much is sliced off. */
  private static void batchToSpace(Node node) throws ModelFormatException {
    int[] block = node.ints(1);
    int[] crops = node.ints(2);
    Shape shape = node.shapeOf(0);
    node.require(
        shape.rank() == 4 && block.length == 2 && crops.length == 4,
        "NNAPI moves blocks of images only, with 4 dimensions");
    int blocks = node.int32Vector(block);
    if (Arrays.stream(crops).allMatch(crop -> crop == 0)) {
      node.emit(OperationCode.BATCH_TO_SPACE_ND, List.of(node.in(0), blocks), node.out(0));
      return;
    }
    node.require(
        shape.isFullySpecified() && block[0] > 0 && block[1] > 0,
        "it crops an image whose shape is not known beforehand");
    int input = node.in(0);
    int output = node.out(0);
    Shape cropped = node.operand(output).shape();
    node.require(cropped.rank() == 4 && cropped.isFullySpecified(), "its output is not known");
    Shape whole =
        Shape.of(
            cropped.dimension(0),
            Math.multiplyExact(shape.dimension(1), block[0]),
            Math.multiplyExact(shape.dimension(2), block[1]),
            shape.dimension(3));
    int uncropped = node.temporary(node.operand(input), whole);
    node.emit(OperationCode.BATCH_TO_SPACE_ND, List.of(input, blocks), uncropped);
    node.emit(
        OperationCode.SLICE,
        List.of(
            uncropped,
            node.int32Vector(0, crops[0], crops[2], 0),
            node.int32Vector(cropped.toArray())),
        output);
  }
}
