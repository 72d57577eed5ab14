// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.ConcatenationOptions;
import org.tensorflow.lite.schema.DepthToSpaceOptions;
import org.tensorflow.lite.schema.MirrorPadMode;
import org.tensorflow.lite.schema.MirrorPadOptions;
import org.tensorflow.lite.schema.ReverseSequenceOptions;
import org.tensorflow.lite.schema.SpaceToDepthOptions;

/** Operators that move elements: join, transpose, repeat, pad, and blocks of space. */
final class Rearrange {
  private Rearrange() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.REVERSE_SEQUENCE, Rearrange::reverseSequence);
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
    ConcatenationOptions options = node.options(new ConcatenationOptions());
    List<Integer> inputs = node.insFrom(0);
    int axis = node.axis(node.get(options::axis), node.shapeOf(0).rank());
    inputs.add(node.int32(axis));
    OperationType operation =
        Strided.isBeyond(node.inOperand(0))
            ? ThalamusExtension.CONCATENATION
            : OperationCode.CONCATENATION;
    node.emitActivated(
        node.get(options::fusedActivationFunction), output -> node.emit(operation, inputs, output));
  }

  private static void transpose(Node node) throws ModelFormatException {
    int[] permutation = node.ints(1);
    int rank = node.shapeOf(0).rank();
    for (int i = 0; i < permutation.length; i++) {
      permutation[i] = node.axis(permutation[i], rank);
    }
    if (Strided.isBeyond(node.inOperand(0))) {
      Shape shape = node.shapeOf(0);
      long[] strides = StridedCopy.strides(shape);
      Strided.emit(
          node,
          node.in(0),
          Shape.of(Arrays.stream(permutation).map(shape::dimension).toArray()),
          0,
          Arrays.stream(permutation).mapToLong(axis -> strides[axis]).toArray(),
          node.out(0));
      return;
    }
    node.emit(
        OperationCode.TRANSPOSE, List.of(node.in(0), node.int32Vector(permutation)), node.out(0));
  }

  private static void tile(Node node) throws ModelFormatException {
    int repeats = node.isKnown(1) ? node.int32Vector(node.ints(1)) : node.in(1);
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
    MirrorPadOptions options = node.options(new MirrorPadOptions());
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

  /** Rows of all sequences stand one after the other, and those before the length change places. */
  private static void reverseSequence(Node node) throws ModelFormatException {
    ReverseSequenceOptions options = node.options(new ReverseSequenceOptions());
    int input = node.in(0);
    Operand data = node.operand(input);
    Shape shape = data.shape();
    int along = node.axis(node.get(options::seqDim), shape.rank());
    int batchAxis = node.axis(node.get(options::batchDim), shape.rank());
    node.require(
        shape.isFullySpecified()
            && along != batchAxis
            && node.shapeOf(1).equals(Shape.of(shape.dimension(batchAxis))),
        "it turns data of shape %s by lengths of shape %s".formatted(shape, node.shapeOf(1)));
    int batches = shape.dimension(batchAxis);
    int steps = shape.dimension(along);
    Shape each = Shape.of(batches, steps);
    int none = node.int32(0);
    int[] range = node.constants().range(steps, node.output(0));
    int places = node.temporary(OperandCode.TENSOR_INT32, each, Quantization.NONE);
    Strided.broadcast(node, node.int32Tensor(Shape.of(1, steps), range), each, places);
    int lengths = Reshape.reshaped(node, node.in(1), Shape.of(batches, 1));
    int isTurned = node.temporary(OperandCode.TENSOR_BOOL8, each, Quantization.NONE);
    node.emit(OperationCode.LESS, List.of(places, lengths), isTurned);
    int next =
        node.compute(OperationCode.ADD, places, places, node.int32Tensor(Shape.of(1, 1), 1), none);
    int turned = node.compute(OperationCode.SUB, places, lengths, next, none);
    int chosen = node.compute(OperationCode.SELECT, places, isTurned, turned, places);
    int cells = Math.multiplyExact(batches, steps);
    int[] starts =
        Arrays.stream(node.constants().range(batches, node.output(0)))
            .map(i -> i * steps)
            .toArray();
    int rows =
        node.compute(
            OperationCode.ADD,
            chosen,
            chosen,
            node.int32Tensor(Shape.of(batches, 1), starts),
            none);
    int[] order =
        IntStream.concat(
                IntStream.of(batchAxis, along),
                IntStream.range(0, shape.rank()).filter(i -> i != along && i != batchAxis))
            .toArray();
    int front = Strided.permuted(node, input, order);
    Shape permuted = node.operand(front).shape();
    int width = Math.toIntExact(shape.elementCount() / batches / steps);
    int flat = Reshape.reshaped(node, front, Shape.of(cells, width));
    int vector = Reshape.reshaped(node, rows, Shape.of(cells));
    int picked =
        node.compute(
            OperationCode.GATHER, data, Shape.of(cells, width), flat, node.int32(0), vector);
    int[] back = new int[order.length];
    for (int i = 0; i < order.length; i++) {
      back[order[i]] = i;
    }
    node.alias(0, Strided.permuted(node, Reshape.reshaped(node, picked, permuted), back));
  }

  /** Neither can NNAPI 1.3 turn data round; the extension io.thalamus can. */
  private static void reverse(Node node) throws ModelFormatException {
    int axes = node.isKnown(1) ? node.int32Vector(node.ints(1)) : node.in(1);
    node.emit(ThalamusExtension.REVERSE, List.of(node.in(0), axes), node.out(0));
  }

  /** NNAPI takes the value as a scalar; for quantized data as a stored integer. */
  private static int value(Node node, Operand data) throws ModelFormatException {
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
  private static int margins(Node node, int input) throws ModelFormatException {
    if (!node.isKnown(input)) {
      return node.in(input);
    }
    return matrix(node, node.ints(input));
  }

  private static int matrix(Node node, int... values) throws ModelFormatException {
    node.require(values.length % 2 == 0, "its margins are not pairs");
    return node.int32Tensor(Shape.of(values.length / 2, 2), values);
  }

  private static void spaceToDepth(Node node) throws ModelFormatException {
    SpaceToDepthOptions options = node.options(new SpaceToDepthOptions());
    int block = node.int32(node.get(options::blockSize));
    node.emit(OperationCode.SPACE_TO_DEPTH, List.of(node.in(0), block), node.out(0));
  }

  private static void depthToSpace(Node node) throws ModelFormatException {
    DepthToSpaceOptions options = node.options(new DepthToSpaceOptions());
    int block = node.int32(node.get(options::blockSize));
    node.emit(OperationCode.DEPTH_TO_SPACE, List.of(node.in(0), block), node.out(0));
  }

  /** Of images; data with one spatial dimension pass as images of width 1. */
  private static void spaceToBatch(Node node) throws ModelFormatException {
    Blocks blocks = Blocks.of(node);
    int input = blocks.image(node);
    int output = node.out(0);
    int[] block = blocks.size();
    int[] margins = blocks.margins();
    List<Integer> inputs = List.of(input, node.int32Vector(block), matrix(node, margins));
    if (!blocks.isLine()) {
      node.emit(OperationCode.SPACE_TO_BATCH_ND, inputs, output);
      return;
    }
    Shape shape = node.operand(input).shape();
    int padded = Math.addExact(shape.dimension(1), Math.addExact(margins[0], margins[1]));
    int image =
        node.temporary(
            node.operand(output),
            Shape.of(
                Math.multiplyExact(shape.dimension(0), block[0]),
                padded / block[0],
                1,
                shape.dimension(3)));
    node.emit(OperationCode.SPACE_TO_BATCH_ND, inputs, image);
    withoutWidth(node, image, output);
  }

  /** NNAPI does not crop: what is too much is sliced off. */
  private static void batchToSpace(Node node) throws ModelFormatException {
    Blocks blocks = Blocks.of(node);
    int input = blocks.image(node);
    Shape shape = node.operand(input).shape();
    int[] block = blocks.size();
    int[] crops = blocks.margins();
    int output = node.out(0);
    int size = node.int32Vector(block);
    boolean whole = Arrays.stream(crops).allMatch(crop -> crop == 0);
    if (whole && !blocks.isLine()) {
      node.emit(OperationCode.BATCH_TO_SPACE_ND, List.of(input, size), output);
      return;
    }
    node.require(
        shape.isFullySpecified() && shape.dimension(0) % (block[0] * block[1]) == 0,
        "its blocks do not fit data of shape " + shape);
    int[] uncropped = {
      shape.dimension(0) / (block[0] * block[1]),
      Math.multiplyExact(shape.dimension(1), block[0]),
      Math.multiplyExact(shape.dimension(2), block[1]),
      shape.dimension(3)
    };
    int image =
        node.compute(
            OperationCode.BATCH_TO_SPACE_ND, node.operand(input), Shape.of(uncropped), input, size);
    if (!whole) {
      int[] cropped = uncropped.clone();
      cropped[1] -= crops[0] + crops[1];
      cropped[2] -= crops[2] + crops[3];
      node.require(cropped[1] > 0 && cropped[2] > 0, "it crops all that there is");
      int target =
          blocks.isLine() ? node.temporary(node.operand(input), Shape.of(cropped)) : output;
      int begin = node.int32Vector(0, crops[0], crops[2], 0);
      node.emit(OperationCode.SLICE, List.of(image, begin, node.int32Vector(cropped)), target);
      image = target;
    }
    if (blocks.isLine()) {
      withoutWidth(node, image, output);
    }
  }

  private static void withoutWidth(Node node, int image, int output) throws ModelFormatException {
    node.emit(OperationCode.SQUEEZE, List.of(image, node.int32Vector(2)), output);
  }

  /**
   * Blocks of height and width.
   *
   * @param size height and width of a block
   * @param margins before and after, of height and of width
   * @param isLine whether the data have no width
   */
  private record Blocks(int[] size, int[] margins, boolean isLine) {
    static Blocks of(Node node) throws ModelFormatException {
      int[] size = node.ints(1);
      int[] margins = node.ints(2);
      int rank = node.shapeOf(0).rank();
      node.require(
          (rank == 4 || rank == 3) && size.length == rank - 2 && margins.length == 2 * size.length,
          "NNAPI moves blocks of images only, with 4 dimensions");
      node.require(
          Arrays.stream(size).allMatch(side -> side > 0 && side < 1 << 15)
              && Arrays.stream(margins).allMatch(margin -> margin >= 0),
          "its blocks are " + Arrays.toString(size) + " with " + Arrays.toString(margins));
      return rank == 4
          ? new Blocks(size, margins, false)
          : new Blocks(new int[] {size[0], 1}, Arrays.copyOf(margins, 4), true);
    }

    int image(Node node) throws ModelFormatException {
      int input = node.in(0);
      if (!isLine) {
        return input;
      }
      Operand data = node.operand(input);
      Shape shape = data.shape();
      return node.compute(
          OperationCode.EXPAND_DIMS,
          data,
          Shape.of(shape.dimension(0), shape.dimension(1), 1, shape.dimension(2)),
          input,
          node.int32(2));
    }
  }
}
