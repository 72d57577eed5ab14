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
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.ConcatenationOptions;
import org.tensorflow.lite.schema.DepthToSpaceOptions;
import org.tensorflow.lite.schema.ReverseSequenceOptions;
import org.tensorflow.lite.schema.SpaceToDepthOptions;

/** Operators that move elements: join, transpose, repeat, and blocks of space. */
final class Rearrange {
  private Rearrange() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.REVERSE_SEQUENCE, Rearrange::reverseSequence);
    table.add(BuiltinOperator.CONCATENATION, Rearrange::concatenation);
    table.add(BuiltinOperator.TRANSPOSE, Rearrange::transpose);
    table.add(BuiltinOperator.TILE, Rearrange::tile);
    table.add(BuiltinOperator.REVERSE_V2, Rearrange::reverse);
    table.add(BuiltinOperator.SPACE_TO_DEPTH, Rearrange::spaceToDepth);
    table.add(BuiltinOperator.DEPTH_TO_SPACE, Rearrange::depthToSpace);
    table.add(BuiltinOperator.SPACE_TO_BATCH_ND, Rearrange::spaceToBatch);
    table.add(BuiltinOperator.BATCH_TO_SPACE_ND, Rearrange::batchToSpace);
  }

  private static void concatenation(Node node) {
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

  private static void transpose(Node node) {
    int[] permutation = node.ints(1);
    if (permutation.length == 0) {
      node.alias(0, node.in(0));
      return;
    }
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
    node.emit(OperationCode.TRANSPOSE, node.out(0), node.in(0), node.int32Vector(permutation));
  }

  private static void tile(Node node) {
    int repeats = node.isKnown(1) ? node.int32Vector(node.ints(1)) : node.in(1);
    node.emit(OperationCode.TILE, node.out(0), node.in(0), repeats);
  }

  /** Rows of all sequences stand one after the other, and those before the length change places. */
  private static void reverseSequence(Node node) {
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
    int[] range = node.constants().range(steps, node.output(0));
    int places = node.temporary(OperandCode.TENSOR_INT32, each, Quantization.NONE);
    Strided.broadcast(node, node.int32Tensor(Shape.of(1, steps), range), each, places);
    int lengths = Reshape.reshaped(node, node.in(1), Shape.of(batches, 1));
    int isTurned =
        node.compute(OperationCode.LESS, OperandCode.TENSOR_BOOL8, each, places, lengths);
    int next = node.compute(OperationCode.ADD, places, places, node.int32Tensor(Shape.of(1, 1), 1));
    int turned = node.compute(OperationCode.SUB, places, lengths, next);
    int chosen = node.compute(OperationCode.SELECT, places, isTurned, turned, places);
    int cells = Math.multiplyExact(batches, steps);
    int[] starts =
        Arrays.stream(node.constants().range(batches, node.output(0)))
            .map(i -> i * steps)
            .toArray();
    int rows =
        node.compute(
            OperationCode.ADD, chosen, chosen, node.int32Tensor(Shape.of(batches, 1), starts));
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
  private static void reverse(Node node) {
    int axes = node.isKnown(1) ? node.int32Vector(node.ints(1)) : node.in(1);
    node.emit(ThalamusExtension.REVERSE, node.out(0), node.in(0), axes);
  }

  private static void spaceToDepth(Node node) {
    SpaceToDepthOptions options = node.options(new SpaceToDepthOptions());
    int block = node.get(options::blockSize);
    Operand data = node.inOperand(0);
    if (!Strided.isBeyond(data)) {
      node.emit(OperationCode.SPACE_TO_DEPTH, node.out(0), node.in(0), node.int32(block));
      return;
    }
    int[] sizes = image(node, data, block);
    node.require(
        sizes[1] % block == 0 && sizes[2] % block == 0,
        "its blocks of " + block + " do not fit data of shape " + data.shape());
    long[] dense = StridedCopy.strides(data.shape());
    Strided.spread(
        node,
        node.in(0),
        new int[] {sizes[0], sizes[1] / block, sizes[2] / block, block, block, sizes[3]},
        new long[] {dense[0], block * dense[1], block * dense[2], dense[1], dense[2], 1},
        Shape.of(sizes[0], sizes[1] / block, sizes[2] / block, block * block * sizes[3]),
        node.out(0));
  }

  private static void depthToSpace(Node node) {
    DepthToSpaceOptions options = node.options(new DepthToSpaceOptions());
    int block = node.get(options::blockSize);
    Operand data = node.inOperand(0);
    if (!Strided.isBeyond(data)) {
      node.emit(OperationCode.DEPTH_TO_SPACE, node.out(0), node.in(0), node.int32(block));
      return;
    }
    int[] sizes = image(node, data, block);
    int depth = sizes[3] / (block * block);
    node.require(
        depth * block * block == sizes[3],
        "its blocks of " + block + " do not fit data of shape " + data.shape());
    long[] dense = StridedCopy.strides(data.shape());
    Strided.spread(
        node,
        node.in(0),
        new int[] {sizes[0], sizes[1], block, sizes[2], block, depth},
        new long[] {dense[0], dense[1], (long) block * depth, dense[2], depth, 1},
        Shape.of(sizes[0], sizes[1] * block, sizes[2] * block, depth),
        node.out(0));
  }

  private static int[] image(Node node, Operand data, int block) {
    node.require(
        data.shape().rank() == 4 && data.shape().isFullySpecified() && block > 0 && block < 1 << 15,
        "it moves blocks of " + block + " in data of shape " + data.shape());
    return data.shape().toArray();
  }

  /** Of images; data with one spatial dimension pass as images of width 1. */
  private static void spaceToBatch(Node node) {
    Blocks blocks = Blocks.of(node);
    int input = blocks.image(node);
    int output = node.out(0);
    int[] block = blocks.size();
    int[] margins = blocks.margins();
    if (Strided.isBeyond(node.operand(input))) {
      blocks.spread(node, input, output);
      return;
    }
    List<Integer> inputs = List.of(input, node.int32Vector(block), Padding.matrix(node, margins));
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
  private static void batchToSpace(Node node) {
    Blocks blocks = Blocks.of(node);
    int input = blocks.image(node);
    Shape shape = node.operand(input).shape();
    int[] block = blocks.size();
    int[] crops = blocks.margins();
    int output = node.out(0);
    if (Strided.isBeyond(node.operand(input))) {
      blocks.gather(node, input, output);
      return;
    }
    int size = node.int32Vector(block);
    boolean whole = Arrays.stream(crops).allMatch(crop -> crop == 0);
    if (whole && !blocks.isLine()) {
      node.emit(OperationCode.BATCH_TO_SPACE_ND, output, input, size);
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
      node.emit(OperationCode.SLICE, target, image, begin, node.int32Vector(cropped));
      image = target;
    }
    if (blocks.isLine()) {
      withoutWidth(node, image, output);
    }
  }

  private static void withoutWidth(Node node, int image, int output) {
    node.emit(OperationCode.SQUEEZE, output, image, node.int32Vector(2));
  }

  /**
   * Blocks of height and width.
   *
   * @param size height and width of a block
   * @param margins before and after, of height and of width
   * @param isLine whether the data have no width
   */
  private record Blocks(int[] size, int[] margins, boolean isLine) {
    static Blocks of(Node node) {
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

    /** SPACE_TO_BATCH_ND of what NNAPI's own does not take. */
    void spread(Node node, int input, int output) {
      int[] all = {0, 0, margins[0], margins[1], margins[2], margins[3], 0, 0};
      Operand data = node.operand(input);
      int padded = node.temporary(data, data.shape());
      Padding.join(node, input, all, Padding.zero(node, data), padded);
      Shape shape = node.operand(padded).shape();
      int rows = shape.dimension(1) / size[0];
      int columns = shape.dimension(2) / size[1];
      node.require(
          rows * size[0] == shape.dimension(1) && columns * size[1] == shape.dimension(2),
          "its blocks do not fit data of shape " + shape);
      int images = shape.dimension(0);
      int depth = shape.dimension(3);
      long[] dense = StridedCopy.strides(shape);
      int batch = Math.multiplyExact(images, Math.multiplyExact(size[0], size[1]));
      Strided.spread(
          node,
          padded,
          new int[] {size[0], size[1], images, rows, columns, depth},
          new long[] {dense[1], dense[2], dense[0], size[0] * dense[1], size[1] * dense[2], 1},
          isLine ? Shape.of(batch, rows, depth) : Shape.of(batch, rows, columns, depth),
          output);
    }

    /** BATCH_TO_SPACE_ND of what NNAPI's own does not take. */
    void gather(Node node, int input, int output) {
      Shape shape = node.operand(input).shape();
      int blocks = Math.multiplyExact(size[0], size[1]);
      node.require(
          shape.isFullySpecified() && shape.dimension(0) % blocks == 0,
          "its blocks do not fit data of shape " + shape);
      int images = shape.dimension(0) / blocks;
      int depth = shape.dimension(3);
      long[] dense = StridedCopy.strides(shape);
      int rows = Math.multiplyExact(shape.dimension(1), size[0]);
      int columns = Math.multiplyExact(shape.dimension(2), size[1]);
      Shape uncropped = Shape.of(images, rows, columns, depth);
      int image = node.temporary(node.operand(input), uncropped);
      Strided.spread(
          node,
          input,
          new int[] {images, shape.dimension(1), size[0], shape.dimension(2), size[1], depth},
          new long[] {
            dense[0], dense[1], size[1] * images * dense[0], dense[2], images * dense[0], 1
          },
          uncropped,
          image);
      int height = rows - margins[0] - margins[1];
      int width = columns - margins[2] - margins[3];
      node.require(height > 0 && width > 0, "it crops all that there is");
      long[] whole = StridedCopy.strides(uncropped);
      long first = margins[0] * whole[1] + margins[2] * whole[2];
      Strided.emit(
          node,
          image,
          isLine ? Shape.of(images, height, depth) : Shape.of(images, height, width, depth),
          first,
          isLine ? new long[] {whole[0], whole[1], 1} : whole,
          output);
    }

    int image(Node node) {
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
