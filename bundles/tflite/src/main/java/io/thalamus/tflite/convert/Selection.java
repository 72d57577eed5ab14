// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.GatherOptions;
import org.tensorflow.lite.schema.OneHotOptions;

/** Operators that pick elements by condition, by index or by size. */
final class Selection {
  private static final int MAX_RANK = 4;
  private static final int MAX_DEPTH = 1 << 16;

  /** The square of it fits 32 bits. */
  private static final int MOST_SORTED = 46_340;

  private Selection() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.SELECT, node -> select(node, rowwise(node)));
    table.add(BuiltinOperator.SELECT_V2, node -> select(node, node.in(0)));
    table.add(BuiltinOperator.GATHER, Selection::gather);
    table.add(BuiltinOperator.GATHER_ND, Selection::gatherTuples);
    table.add(BuiltinOperator.TOPK_V2, Selection::topK);
    table.add(BuiltinOperator.ONE_HOT, Selection::oneHot);
    table.add(BuiltinOperator.ARG_MAX, node -> argument(node, OperationCode.ARGMAX));
    table.add(BuiltinOperator.ARG_MIN, node -> argument(node, OperationCode.ARGMIN));
    table.add(BuiltinOperator.EMBEDDING_LOOKUP, OperationCode.EMBEDDING_LOOKUP, 2);
  }

  /** The condition of the older SELECT, of which a vector chooses whole rows of the others. */
  private static int rowwise(Node node) {
    Shape shape = node.shapeOf(0);
    int rank = node.shapeOf(1).rank();
    if (shape.rank() != 1 || rank < 2) {
      return node.in(0);
    }
    int[] column = new int[rank];
    Arrays.fill(column, 1);
    column[0] = shape.dimension(0);
    return Reshape.reshaped(node, node.in(0), Shape.of(column));
  }

  /** NNAPI broadcasts neither the condition nor the choices. */
  private static void select(Node node, int condition) {
    Shape shape = node.operand(condition).shape();
    for (int i = 1; i <= 2; i++) {
      shape = broadcast(node, shape, node.shapeOf(i));
    }
    List<Integer> inputs = new ArrayList<>();
    inputs.add(spread(node, condition, shape));
    for (int i = 1; i <= 2; i++) {
      inputs.add(spread(node, node.in(i), shape));
    }
    choose(node, inputs, node.out(0));
  }

  /**
   * NNAPI chooses no truth values: the first where the condition holds, or the second elsewhere.
   */
  private static void choose(Node node, List<Integer> inputs, int output) {
    if (node.operand(output).type() != OperandCode.TENSOR_BOOL8) {
      node.emit(OperationCode.SELECT, inputs, output);
      return;
    }
    int condition = inputs.get(0);
    int first = node.compute(OperationCode.LOGICAL_AND, condition, condition, inputs.get(1));
    int otherwise = node.compute(OperationCode.LOGICAL_NOT, condition, condition);
    int second = node.compute(OperationCode.LOGICAL_AND, condition, otherwise, inputs.get(2));
    node.emit(OperationCode.LOGICAL_OR, output, first, second);
  }

  private static int spread(Node node, int operand, Shape shape) {
    if (node.operand(operand).shape().equals(shape)) {
      return operand;
    }
    int spread = node.temporary(node.operand(operand), shape);
    Strided.broadcast(node, operand, shape, spread);
    return spread;
  }

  private static Shape broadcast(Node node, Shape a, Shape b) {
    int rank = Math.max(a.rank(), b.rank());
    int[] dimensions = new int[rank];
    for (int i = 0; i < rank; i++) {
      int first = i < rank - a.rank() ? 1 : a.dimension(i - rank + a.rank());
      int second = i < rank - b.rank() ? 1 : b.dimension(i - rank + b.rank());
      node.require(
          first == second || first == 1 || second == 1,
          "shapes " + a + " and " + b + " do not broadcast");
      dimensions[i] = first == 1 ? second : first;
    }
    return Shape.of(dimensions);
  }

  /** One index for each dimension gives a scalar, which is a vector of one element here. */
  private static void gatherTuples(Node node) {
    int indexes = node.in(1);
    Shape shape = node.operand(indexes).shape();
    if (shape.rank() == 1 && shape.dimension(0) == node.shapeOf(0).rank()) {
      indexes = Reshape.reshaped(node, indexes, Shape.of(1, shape.dimension(0)));
    }
    node.emit(ThalamusExtension.GATHER_ND, node.out(0), node.in(0), indexes);
  }

  private static void gather(Node node) {
    GatherOptions options = node.options(new GatherOptions());
    int input = node.in(0);
    Operand data = node.operand(input);
    int axis = node.axis(node.get(options::axis), data.shape().rank());
    int batches = node.get(options::batchDims);
    if (batches != 0) {
      gatherInBatches(node, input, axis, batches < 0 ? batches + node.shapeOf(1).rank() : batches);
      return;
    }
    int indices = node.in(1);
    List<Integer> inputs = List.of(input, node.int32(axis), indices);
    int output = node.out(0);
    if (!node.isScalar(node.input(1)) || node.isScalar(node.output(0))) {
      node.emit(OperationCode.GATHER, inputs, output);
      return;
    }
    int picked = node.temporary(data, data.shape().with(axis, 1));
    node.emit(OperationCode.GATHER, inputs, picked);
    Reshape.emit(node, picked, output);
  }

  /** Rows of all batches stand one after the other, and indices count from the first batch. */
  private static void gatherInBatches(Node node, int input, int axis, int batches) {
    Operand data = node.operand(input);
    Shape shape = data.shape();
    Shape indices = node.shapeOf(1);
    node.require(
        shape.isFullySpecified()
            && indices.isFullySpecified()
            && batches > 0
            && batches <= axis
            && batches <= indices.rank()
            && Arrays.equals(shape.toArray(), 0, batches, indices.toArray(), 0, batches),
        "data of shape %s, indices of shape %s, and %s batch dimensions"
            .formatted(shape, indices, batches));
    int batch = count(node, shape, 0, batches);
    int between = count(node, shape, batches, axis);
    int size = shape.dimension(axis);
    int rest = count(node, shape, axis + 1, shape.rank());
    int picked = count(node, indices, batches, indices.rank());
    int rows = node.temporary(data, Shape.of(batch * size, between * rest));
    int front = node.temporary(data, Shape.of(batch, size, between, rest));
    Strided.emit(
        node,
        input,
        node.operand(front).shape(),
        0,
        new long[] {(long) between * size * rest, rest, (long) size * rest, 1},
        front);
    Reshape.emit(node, front, rows);
    int flat = Reshape.reshaped(node, node.in(1), Shape.of(batch, picked));
    int[] starts = IntStream.range(0, batch).map(i -> i * size).toArray();
    int places =
        node.compute(OperationCode.ADD, flat, flat, node.int32Tensor(Shape.of(batch, 1), starts));
    int result = node.temporary(data, Shape.of(batch * picked, between * rest));
    int vector = Reshape.reshaped(node, places, Shape.of(batch * picked));
    node.emit(OperationCode.GATHER, result, rows, node.int32(0), vector);
    int[] full =
        Stream.of(
                Arrays.copyOf(shape.toArray(), axis),
                Arrays.copyOfRange(indices.toArray(), batches, indices.rank()),
                Arrays.copyOfRange(shape.toArray(), axis + 1, shape.rank()))
            .flatMapToInt(Arrays::stream)
            .toArray();
    int back = node.temporary(data, Shape.of(batch, between, picked, rest));
    Strided.emit(
        node,
        result,
        node.operand(back).shape(),
        0,
        new long[] {(long) picked * between * rest, rest, (long) between * rest, 1},
        back);
    int output = node.out(0);
    node.builder().reshape(output, Shape.of(full));
    Reshape.emit(node, back, output);
  }

  private static int count(Node node, Shape shape, int from, int to) {
    long count = 1;
    for (int i = from; i < to; i++) {
      count *= shape.dimension(i);
      node.require(count <= 1 << 24, "its shape " + shape + " is too large for this");
    }
    return (int) count;
  }

  /** Writes one value where the index is that of the place, and another elsewhere. */
  private static void oneHot(Node node) {
    OneHotOptions options = node.options(new OneHotOptions());
    Shape indices = node.isScalar(node.input(0)) ? Shape.NONE : node.shapeOf(0);
    int rank = indices.rank();
    int axis = node.get(options::axis);
    int depth = node.onlyInt(1);
    node.require(
        axis >= -1
            && axis <= rank
            && rank < MAX_RANK
            && (rank == 0 || indices.isFullySpecified())
            && depth > 0
            && depth <= MAX_DEPTH,
        "it spreads indices of shape " + indices + " to " + depth + " along axis " + axis);
    int at = axis < 0 ? rank : axis;
    int[] spread = new int[rank + 1];
    System.arraycopy(indices.toArray(), 0, spread, 0, at);
    spread[at] = 1;
    System.arraycopy(indices.toArray(), at, spread, at + 1, rank - at);
    int[] full = spread.clone();
    full[at] = depth;
    int places = node.int32Vector(IntStream.range(0, depth).toArray());
    if (at < rank) {
      int[] along = new int[rank + 1];
      Arrays.fill(along, 1);
      along[at] = depth;
      node.builder().reshape(places, Shape.of(along));
    }
    int column = Reshape.reshaped(node, node.in(0), Shape.of(spread));
    int found =
        node.compute(OperationCode.EQUAL, OperandCode.TENSOR_BOOL8, Shape.of(full), column, places);
    int on = repeated(node, 2, Shape.of(full));
    int off = repeated(node, 3, Shape.of(full));
    choose(node, List.of(found, on, off), node.out(0));
  }

  /** As many of a number as a shape has. */
  private static int repeated(Node node, int input, Shape shape) {
    FlatTensor number = node.input(input);
    Operand one = node.inOperand(input);
    node.require(one.shape().elementCount() == 1, number.text() + " is not one number");
    if (number.isConstant()) {
      byte[] element = node.constants().copy(number.data());
      if (element.length == one.type().elementSize()) {
        return node.constant(one, shape, node.constants().filled(shape, element, number));
      }
    }
    int all = node.temporary(one, shape);
    Strided.emit(node, node.in(input), shape, 0, new long[shape.rank()], all);
    return all;
  }

  /**
   * Of equal elements NNAPI's comes from behind, TensorFlow Lite's from the front. Sorts all and
   * takes some of them, if only an execution determines how many.
   */
  private static void topK(Node node) {
    Operand data = node.inOperand(0);
    Shape shape = data.shape();
    int last = shape.rank() - 1;
    int length = last < 0 ? 0 : shape.dimension(last);
    if (length == 0) {
      node.require(
          last == 0, "neither how many it takes of rows is known beforehand, nor of how many");
      sort(node, data);
      return;
    }
    boolean isKnown = node.isKnown(1);
    node.require(
        isKnown || shape.isFullySpecified(), "how many it takes of " + shape + " is computed");
    int k = isKnown ? node.onlyInt(1) : length;
    node.require(k > 0 && k <= length, "it takes " + k + " of " + length);
    int turned =
        node.compute(ThalamusExtension.REVERSE, data, shape, node.in(0), node.int32Vector(last));
    Shape found = shape.with(last, k);
    int sorted = isKnown ? node.out(0) : node.temporary(data, found);
    int fromEnd = node.temporary(OperandCode.TENSOR_INT32, found, Quantization.NONE);
    node.emit(OperationCode.TOPK_V2, List.of(turned, node.int32(k)), List.of(sorted, fromEnd));
    int places = isKnown ? node.out(1) : node.temporary(node.operand(fromEnd), found);
    int end = node.int32Vector(length - 1);
    node.emit(OperationCode.SUB, places, end, fromEnd);
    if (isKnown) {
      return;
    }
    int size = Reshape.reshaped(node, node.in(1), Shape.of(1));
    if (last > 0) {
      Operand number = node.operand(size);
      int others = node.int32Vector(Arrays.copyOf(shape.toArray(), last));
      size =
          node.compute(
              ThalamusExtension.CONCATENATION,
              number,
              Shape.of(last + 1),
              others,
              size,
              node.int32(0));
    }
    take(node, sorted, places, size);
  }

  private static void take(Node node, int sorted, int places, int size) {
    Shape shape = node.operand(sorted).shape();
    int last = shape.rank() - 1;
    int begin = node.int32Vector(new int[last + 1]);
    int[] from = {sorted, places};
    for (int i = 0; i < from.length; i++) {
      Operand all = node.operand(from[i]);
      int output = node.out(i, (OperandCode) all.type(), shape.with(last, 0), all.quantization());
      node.emit(OperationCode.SLICE, output, from[i], begin, size);
    }
  }

  /**
   * Sorts a row of a size that only an execution determines, since TOPK_V2 wants to know how many
   * it takes. UNIQUE numbers the values in ascending order; its first places, of numbers made of
   * these and of the places, are the order. A row too long for that fails at GATHER.
   */
  private static void sort(Node node, Operand data) {
    node.require(
        data.type() == OperandCode.TENSOR_FLOAT32 || data.type() == OperandCode.TENSOR_INT32,
        "it sorts " + data.type().text() + " of a size that is not known beforehand");
    Shape open = data.shape();
    int rank = unique(node, node.in(0), 2);
    int isThere =
        node.compute(
            OperationCode.GREATER_EQUAL, OperandCode.TENSOR_BOOL8, open, rank, node.int32Vector(0));
    int place = Sizes.places(node, isThere);
    int most = node.int32Vector(MOST_SORTED);
    int beyond = node.compute(ThalamusExtension.FLOOR_DIV, rank, place, most);
    int factor = node.compute(OperationCode.GATHER, rank, most, node.int32(0), beyond);
    int weight = node.compute(OperationCode.MUL, rank, rank, factor);
    int order = unique(node, node.compute(OperationCode.SUB, rank, place, weight), 1);
    int sorted = node.compute(OperationCode.GATHER, data, open, node.in(0), node.int32(0), order);
    take(node, sorted, order, Reshape.reshaped(node, node.in(1), Shape.of(1)));
  }

  private static int unique(Node node, int row, int output) {
    Operand data = node.operand(row);
    List<Integer> outputs = new ArrayList<>(List.of(node.temporary(data, Shape.of(0))));
    for (int i = 1; i < 4; i++) {
      outputs.add(node.temporary(OperandCode.TENSOR_INT32, Shape.of(0), Quantization.NONE));
    }
    node.emit(ThalamusExtension.UNIQUE, List.of(row, node.bool(true)), outputs);
    return outputs.get(output);
  }

  /** An index always fits 32 bits, also where the file says 64. */
  private static void argument(Node node, OperationCode code) {
    int axis = node.axis(node.onlyInt(1), node.shapeOf(0).rank());
    int output =
        node.out(0, OperandCode.TENSOR_INT32, TensorTypes.shape(node.output(0)), Quantization.NONE);
    node.emit(code, output, node.in(0), node.int32(axis));
  }
}
