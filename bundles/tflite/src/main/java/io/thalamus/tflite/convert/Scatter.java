// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.BuiltinOperator;

/**
 * Rows that are put, or added up, where other values say. NNAPI writes nothing in place: each row
 * of the result takes what is meant for it.
 */
final class Scatter {
  /** Elements that are looked at; beyond that the search would take more than the network. */
  private static final long MOST_ELEMENTS = 1 << 22;

  private static final int SCALAR = 0;

  private Scatter() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.SCATTER_ND, Scatter::scatter);
    table.add(BuiltinOperator.SPARSE_TO_DENSE, Scatter::sparse);
    table.add(BuiltinOperator.SEGMENT_SUM, node -> segments(node, OperationCode.REDUCE_SUM, 0));
    table.add(
        BuiltinOperator.UNSORTED_SEGMENT_SUM, node -> segments(node, OperationCode.REDUCE_SUM, 0));
    table.add(
        BuiltinOperator.UNSORTED_SEGMENT_PROD,
        node -> segments(node, OperationCode.REDUCE_PROD, 1));
    table.add(
        BuiltinOperator.UNSORTED_SEGMENT_MAX,
        node -> segments(node, OperationCode.REDUCE_MAX, -Float.MAX_VALUE));
    table.add(
        BuiltinOperator.UNSORTED_SEGMENT_MIN,
        node -> segments(node, OperationCode.REDUCE_MIN, Float.MAX_VALUE));
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
    int rows = count(node, sizes, 0, tuple);
    int width = count(node, sizes, tuple, sizes.length);
    int count = count(node, indexes.toArray(), 0, indexes.rank() - 1);
    node.require(
        count(node, updates.toArray(), 0, updates.rank()) == (long) count * width,
        "its updates of shape " + updates + " do not fit");
    int values = Reshape.reshaped(node, node.in(1), Shape.of(count, width));
    if (node.isKnown(0)) {
      int[] places = places(node, node.ints(0), sizes, tuple);
      if (Arrays.stream(places).distinct().count() == count) {
        moved(node, values, places, Shape.of(rows, width));
        return;
      }
    }
    summed(node, values, flat(node, sizes, tuple, count), Shape.of(rows, width), 0);
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
    int rows = count(node, sizes, 0, tuple);
    int given = node.in(2);
    Operand like = node.operand(given);
    node.require(
        known(node, like.shape()).elementCount() == count || like.shape().elementCount() == 1,
        "its " + count + " places do not fit values of shape " + like.shape());
    int values = node.temporary(like, Shape.of(count));
    Strided.broadcast(
        node,
        Reshape.reshaped(node, given, Shape.of(Math.toIntExact(like.shape().elementCount()))),
        Shape.of(count),
        values);
    int other = Reshape.reshaped(node, node.in(3), Shape.of(1));
    int all = node.temporary(like, Shape.of(Math.addExact(count, 1)));
    node.emit(concatenation(like), all, other, values, node.int32(0));
    int[] places = node.constants().range(count, node.output(0));
    int numbers =
        node.int32Tensor(Shape.of(count, 1), Arrays.stream(places).map(i -> i + 1).toArray());
    int from =
        reduced(
            node,
            OperationCode.REDUCE_MAX,
            numbers,
            flat(node, sizes, tuple, count),
            Shape.of(rows, 1),
            0);
    int vector = Reshape.reshaped(node, from, Shape.of(rows));
    int picked = node.temporary(like, Shape.of(rows));
    node.emit(OperationCode.GATHER, picked, all, node.int32(0), vector);
    int output = node.out(0);
    node.builder().reshape(output, Shape.of(sizes));
    Reshape.emit(node, picked, output);
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

  /** Rows whose places are known: each is picked out of the updates, or out of a row of zeros. */
  private static void moved(Node node, int values, int[] places, Shape result) {
    Operand like = node.operand(values);
    int[] from = new int[result.dimension(0)];
    Arrays.fill(from, places.length);
    for (int i = 0; i < places.length; i++) {
      from[places[i]] = i;
    }
    Shape row = Shape.of(1, result.dimension(1));
    int zeros = Truths.filled(node, like, row, like.quantization().zeroPoint());
    int both = node.temporary(like, Shape.of(places.length + 1, result.dimension(1)));
    node.emit(concatenation(like), both, values, zeros, node.int32(0));
    int picked = node.temporary(like, result);
    node.emit(OperationCode.GATHER, picked, both, node.int32(0), node.int32Vector(from));
    Reshape.emit(node, picked, node.out(0));
  }

  private static OperationType concatenation(Operand like) {
    return like.type() == OperandCode.TENSOR_INT32 || like.type() == OperandCode.TENSOR_BOOL8
        ? ThalamusExtension.CONCATENATION
        : OperationCode.CONCATENATION;
  }

  /** The rows that tuples of computed indexes name. */
  private static int flat(Node node, int[] sizes, int tuple, int count) {
    int indexes = Reshape.reshaped(node, node.in(0), Shape.of(count, tuple));
    Operand column =
        new Operand(
            OperandCode.TENSOR_INT32,
            Shape.of(count, 1),
            Quantization.NONE,
            Lifetime.TEMPORARY_VARIABLE,
            "");
    int sum = -1;
    for (int i = 0; i < tuple; i++) {
      int part = node.temporary(column, column.shape());
      Strided.emit(node, indexes, column.shape(), i, new long[] {tuple, 1}, part);
      if (sum < 0) {
        sum = part;
      } else {
        int moved =
            node.compute(
                OperationCode.MUL,
                part,
                sum,
                node.int32Tensor(Shape.of(1, 1), sizes[i]),
                node.int32(SCALAR));
        sum = node.compute(OperationCode.ADD, part, moved, part, node.int32(SCALAR));
      }
    }
    return Reshape.reshaped(node, sum, Shape.of(1, count));
  }

  private static void summed(Node node, int values, int places, Shape result, double neutral) {
    int rows = reduced(node, OperationCode.REDUCE_SUM, values, places, result, neutral);
    Reshape.emit(node, rows, node.out(0));
  }

  /** One result for each number in the second input: all rows with that number together. */
  private static void segments(Node node, OperationCode reduction, double neutral) {
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
    int places = Reshape.reshaped(node, node.in(1), Shape.of(1, count));
    int rows = reduced(node, reduction, values, places, Shape.of(segments, width), neutral);
    int output = node.out(0, code(node, rows), Shape.of(full), Quantization.NONE);
    Reshape.emit(node, rows, output);
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
    node.require(count > 0, "the number of its segments is not known beforehand");
    return count;
  }

  /**
   * Rows, each made of the values that are meant for it.
   *
   * @param values {@code [count, width]}
   * @param places {@code [1, count]}
   * @param neutral what a row is that nothing is meant for
   */
  private static int reduced(
      Node node, OperationCode reduction, int values, int places, Shape result, double neutral) {
    Operand data = node.operand(values);
    node.require(
        Integers.reduces(data, reduction)
            || data.type() == OperandCode.TENSOR_FLOAT32
            || data.type() == OperandCode.TENSOR_FLOAT16,
        "NNAPI sums up no " + data.type().text());
    int count = data.shape().dimension(0);
    int rows = result.dimension(0);
    int width = result.dimension(1);
    node.require(
        (long) rows * width <= MOST_ELEMENTS / count,
        "it has too many computed places for what NNAPI has");
    Shape pairs = Shape.of(rows, count);
    Shape all = Shape.of(rows, count, width);
    int row = node.int32Tensor(Shape.of(rows, 1), IntStream.range(0, rows).toArray());
    int isMeant = node.compute(OperationCode.EQUAL, OperandCode.TENSOR_BOOL8, pairs, row, places);
    int wide = node.temporary(OperandCode.TENSOR_BOOL8, all, Quantization.NONE);
    Strided.emit(node, isMeant, all, 0, new long[] {count, 1, 0}, wide);
    int repeated = node.temporary(data, all);
    Strided.emit(node, values, all, 0, new long[] {0, width, 1}, repeated);
    double other =
        Integers.isInteger(data)
            ? Math.clamp(neutral, Integer.MIN_VALUE, Integer.MAX_VALUE)
            : neutral;
    int chosen = node.temporary(data, all);
    node.emit(OperationCode.SELECT, chosen, wide, repeated, Truths.filled(node, data, all, other));
    int reduced = node.temporary(data, result);
    if (Integers.reduces(data, reduction)) {
      Integers.reduce(node, reduction, chosen, new int[] {1}, reduced);
      return reduced;
    }
    node.emit(reduction, reduced, chosen, node.int32Vector(1), node.bool(false));
    return reduced;
  }
}
