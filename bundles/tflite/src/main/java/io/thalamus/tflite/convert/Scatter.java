// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.Selection.Update;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.BuiltinOperator;

/** Rows that are put, or joined, where other values say. */
final class Scatter {
  private Scatter() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.SCATTER_ND, Scatter::scatter);
    table.add(BuiltinOperator.SPARSE_TO_DENSE, Scatter::sparse);
    table.add(BuiltinOperator.SEGMENT_SUM, node -> segments(node, Update.ADD, 0));
    table.add(BuiltinOperator.UNSORTED_SEGMENT_SUM, node -> segments(node, Update.ADD, 0));
    table.add(BuiltinOperator.UNSORTED_SEGMENT_PROD, node -> segments(node, Update.MULTIPLY, 1));
    table.add(
        BuiltinOperator.UNSORTED_SEGMENT_MAX,
        node -> segments(node, Update.MAXIMUM, -Float.MAX_VALUE));
    table.add(
        BuiltinOperator.UNSORTED_SEGMENT_MIN,
        node -> segments(node, Update.MINIMUM, Float.MAX_VALUE));
  }

  /** Zeros, to which updates are added: several at one place are summed up. */
  private static void scatter(Node node) {
    int[] sizes = node.ints(2);
    Shape indexes = known(node, node.shapeOf(0));
    Shape updates = known(node, node.shapeOf(1));
    int tuple = indexes.dimension(indexes.rank() - 1);
    node.require(
        tuple > 0 && tuple <= sizes.length && Arrays.stream(sizes).allMatch(size -> size > 0),
        "its indices of shape " + indexes + " do not fit the shape " + Arrays.toString(sizes));
    int width = count(node, sizes, tuple, sizes.length);
    int count = count(node, indexes.toArray(), 0, indexes.rank() - 1);
    node.require(
        count(node, updates.toArray(), 0, updates.rank()) == (long) count * width,
        "its updates of shape " + updates + " do not fit");
    int values = Reshape.reshaped(node, node.in(1), Shape.of(count, width));
    Operand like = node.operand(values);
    int zeros =
        Truths.filled(node, like, slices(sizes, tuple, width), like.quantization().zeroPoint());
    boolean isEachOnce =
        node.isKnown(0)
            && Arrays.stream(places(node, node.ints(0), sizes, tuple)).distinct().count() == count;
    int places = Reshape.reshaped(node, node.in(0), Shape.of(count, tuple));
    int result = scattered(node, zeros, places, values, isEachOnce ? Update.REPLACE : Update.ADD);
    Reshape.emit(node, result, node.out(0));
  }

  /** One value everywhere but at some places, of which the last counts where two are the same. */
  private static void sparse(Node node) {
    int[] sizes = node.ints(1);
    Shape indexes = node.isScalar(node.input(0)) ? Shape.of(1, 1) : known(node, node.shapeOf(0));
    int tuple = indexes.rank() == 2 ? indexes.dimension(1) : 1;
    int count = indexes.dimension(0);
    node.require(
        indexes.rank() <= 2
            && tuple == sizes.length
            && Arrays.stream(sizes).allMatch(size -> size > 0),
        "its indices of shape " + indexes + " do not fit the shape " + Arrays.toString(sizes));
    int given = node.in(2);
    Operand like = node.operand(given);
    node.require(
        known(node, like.shape()).elementCount() == count || like.shape().elementCount() == 1,
        "its " + count + " places do not fit values of shape " + like.shape());
    int values = node.temporary(like, Shape.of(count, 1));
    Shape column = Shape.of(Math.toIntExact(like.shape().elementCount()), 1);
    Strided.broadcast(
        node, Reshape.reshaped(node, given, column), node.operand(values).shape(), values);
    Shape all = slices(sizes, tuple, 1);
    int others = node.temporary(like, all);
    Strided.broadcast(node, Reshape.reshaped(node, node.in(3), Shape.of(1)), all, others);
    int places = Reshape.reshaped(node, node.in(0), Shape.of(count, tuple));
    int output = node.out(0);
    node.builder().reshape(output, Shape.of(sizes));
    Reshape.emit(node, scattered(node, others, places, values, Update.REPLACE), output);
  }

  /** The dimensions that tuples of indexes point into, and the elements of a slice. */
  private static Shape slices(int[] sizes, int tuple, int width) {
    int[] dimensions = Arrays.copyOf(sizes, tuple + 1);
    dimensions[tuple] = width;
    return Shape.of(dimensions);
  }

  /** Slices of a tensor that are replaced by, or joined with, those of another. */
  static int scattered(Node node, int data, int places, int values, Update update) {
    Operand like = node.operand(values);
    node.require(
        update == Update.REPLACE
            || Integers.isInteger(like)
            || like.type() == OperandCode.TENSOR_FLOAT32
            || like.type() == OperandCode.TENSOR_FLOAT16,
        "NNAPI sums up no " + like.type().text());
    return node.compute(
        ThalamusExtension.SCATTER_ND, data, data, places, values, node.int32(update.code()));
  }

  private static Shape known(Node node, Shape shape) {
    node.require(
        shape.rank() > 0 && shape.isFullySpecified(),
        "its shape " + shape + " is not known beforehand");
    return shape;
  }

  private static int count(Node node, int[] sizes, int from, int to) {
    long count = 1;
    for (int i = from; i < to; i++) {
      count *= sizes[i];
      node.require(count <= Integer.MAX_VALUE, "its shape " + Arrays.toString(sizes) + " is huge");
    }
    return (int) count;
  }

  private static int[] places(Node node, int[] indexes, int[] sizes, int tuple) {
    int[] places = new int[indexes.length / tuple];
    for (int i = 0; i < indexes.length; i++) {
      int size = sizes[i % tuple];
      node.require(
          indexes[i] >= 0 && indexes[i] < size,
          "its index " + indexes[i] + " is outside of " + size);
      places[i / tuple] = places[i / tuple] * size + indexes[i];
    }
    return places;
  }

  /** One result for each number in the second input: all rows with that number together. */
  private static void segments(Node node, Update update, double neutral) {
    Shape data = known(node, node.shapeOf(0));
    Shape numbers = known(node, node.shapeOf(1));
    int count = count(node, numbers.toArray(), 0, numbers.rank());
    node.require(
        numbers.rank() <= data.rank()
            && Arrays.equals(
                data.toArray(), 0, numbers.rank(), numbers.toArray(), 0, numbers.rank()),
        "its segments of shape " + numbers + " do not fit data of shape " + data);
    int width = count(node, data.toArray(), numbers.rank(), data.rank());
    int segments = segmentCount(node);
    int[] shape = data.toArray();
    int[] rest = Arrays.copyOfRange(shape, numbers.rank(), shape.length);
    int[] full = IntStream.concat(IntStream.of(segments), Arrays.stream(rest)).toArray();
    int values = Reshape.reshaped(node, node.in(0), Shape.of(count, width));
    int rows = joined(node, values, segments, update, neutral);
    int output = node.out(0, code(node, rows), Shape.of(full), Quantization.NONE);
    Reshape.emit(node, rows, output);
  }

  /** Rows, each made of the values with its number; those with a number below 0 go nowhere. */
  private static int joined(Node node, int values, int segments, Update update, double neutral) {
    Operand data = node.operand(values);
    int count = data.shape().dimension(0);
    int width = data.shape().dimension(1);
    double other =
        Integers.isInteger(data)
            ? Math.clamp(neutral, Integer.MIN_VALUE, Integer.MAX_VALUE)
            : neutral;
    int numbers = Reshape.reshaped(node, node.in(1), Shape.of(count, 1));
    if (node.isKnown(1) && Arrays.stream(node.ints(1)).allMatch(number -> number >= 0)) {
      int initial = Truths.filled(node, data, Shape.of(segments, width), other);
      return scattered(node, initial, numbers, values, update);
    }
    Shape column = Shape.of(count, 1);
    int zero = node.int32Tensor(Shape.of(1, 1), 0);
    int isBelow = node.compute(OperationCode.LESS, OperandCode.TENSOR_BOOL8, column, numbers, zero);
    int behind = Truths.filled(node, node.operand(numbers), column, segments);
    int places = node.compute(OperationCode.SELECT, numbers, isBelow, behind, numbers);
    int initial = Truths.filled(node, data, Shape.of(segments + 1, width), other);
    int all = scattered(node, initial, places, values, update);
    int rows = node.temporary(data, Shape.of(segments, width));
    Strided.emit(node, all, node.operand(rows).shape(), 0, new long[] {width, 1}, rows);
    return rows;
  }

  private static OperandCode code(Node node, int operand) {
    if (node.operand(operand).type() instanceof OperandCode code) {
      return code;
    }
    throw node.refuse("its data is of the type " + node.operand(operand).type().text());
  }

  private static int segmentCount(Node node) {
    int count;
    if (node.has(2)) {
      count = node.onlyInt(2);
    } else if (node.isKnown(1)) {
      count = 1 + Arrays.stream(node.ints(1)).max().orElse(-1);
    } else {
      Shape stated = TensorTypes.statedShape(node.output(0));
      count = stated.rank() > 0 ? stated.dimension(0) : 0;
    }
    node.require(
        count > 0 && count < Integer.MAX_VALUE,
        "the number of its segments is not known beforehand");
    return count;
  }
}
