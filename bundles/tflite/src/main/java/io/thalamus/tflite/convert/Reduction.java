// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.CumsumOptions;
import org.tensorflow.lite.schema.ReducerOptions;

/** Mean, sum, product, extremes and logic over some dimensions. */
final class Reduction {
  private static final int MAX_RANK = 4;

  /** The longest run whose sums are a product; its matrix has the square of that. */
  private static final int MAX_RUN = 1024;

  private static final long MAX_ELEMENTS = 1 << 24;

  private Reduction() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.MEAN, node -> reduce(node, OperationCode.MEAN));
    table.add(BuiltinOperator.SUM, node -> reduce(node, OperationCode.REDUCE_SUM));
    table.add(BuiltinOperator.REDUCE_PROD, node -> reduce(node, OperationCode.REDUCE_PROD));
    table.add(BuiltinOperator.REDUCE_MAX, node -> reduce(node, OperationCode.REDUCE_MAX));
    table.add(BuiltinOperator.REDUCE_MIN, node -> reduce(node, OperationCode.REDUCE_MIN));
    table.add(BuiltinOperator.REDUCE_ANY, node -> reduce(node, OperationCode.REDUCE_ANY));
    table.add(BuiltinOperator.REDUCE_ALL, node -> reduce(node, OperationCode.REDUCE_ALL));
    table.add(BuiltinOperator.CUMSUM, Reduction::runningSum);
  }

  private static void reduce(Node node, OperationCode code) {
    ReducerOptions options = node.options(new ReducerOptions());
    boolean keep = node.get(options::keepDims);
    int[] axes = axes(node);
    FloatFallback.unlessQuantizedAlike(
        node,
        (input, output) -> {
          if (axes.length == 0) {
            Reshape.emit(node, input, output);
            return;
          }
          if (code == OperationCode.MEAN && Integers.isInteger(node.operand(input))) {
            Integers.mean(node, input, axes, output);
            return;
          }
          if (Integers.reduces(node.operand(input), code)) {
            Integers.reduce(node, code, input, axes, output);
            return;
          }
          if (node.operand(input).shape().rank() > MAX_RANK) {
            reduceJoined(node, code, input, axes, output);
            return;
          }
          node.emit(code, output, input, node.int32Vector(axes), kept(node, code, keep));
        });
  }

  /** MEAN came first, and says with an integer what the others say with a BOOL. */
  private static int kept(Node node, OperationCode code, boolean keep) {
    return code == OperationCode.MEAN ? node.int32(keep ? 1 : 0) : node.bool(keep);
  }

  /**
   * Neighbouring dimensions are joined where both are reduced, or both are not. If they are still
   * too many, the last that are reduced come first, for themselves.
   */
  private static void reduceJoined(
      Node node, OperationCode code, int input, int[] axes, int output) {
    Operand data = node.operand(input);
    Operand target = node.operand(output);
    node.require(
        data.shape().isFullySpecified(),
        "it reduces data of shape " + data.shape() + ", not known beforehand");
    Set<Integer> reduced = Arrays.stream(axes).boxed().collect(Collectors.toSet());
    List<Integer> dimensions = new ArrayList<>();
    List<Boolean> isReduced = new ArrayList<>();
    for (int i = 0; i < data.shape().rank(); i++) {
      int size = data.shape().dimension(i);
      if (size == 1) {
        continue;
      }
      if (!dimensions.isEmpty() && isReduced.getLast() == reduced.contains(i)) {
        dimensions.set(dimensions.size() - 1, Math.multiplyExact(dimensions.getLast(), size));
      } else {
        dimensions.add(size);
        isReduced.add(reduced.contains(i));
      }
    }
    int part = input;
    while (dimensions.size() > MAX_RANK) {
      int last = isReduced.lastIndexOf(true);
      int before = product(dimensions.subList(0, last));
      int after = product(dimensions.subList(last + 1, dimensions.size()));
      int rows = Reshape.reshaped(node, part, Shape.of(before, dimensions.get(last), after));
      part = node.temporary(target, Shape.of(before, 1, after));
      node.emit(code, part, rows, node.int32Vector(1), kept(node, code, true));
      dimensions.remove(last);
      isReduced.remove(last);
    }
    int[] along = IntStream.range(0, dimensions.size()).filter(isReduced::get).toArray();
    if (along.length > 0) {
      int[] sizes = dimensions.stream().mapToInt(Integer::intValue).toArray();
      int rows = Reshape.reshaped(node, part, Shape.of(sizes));
      Arrays.stream(along).forEach(axis -> sizes[axis] = 1);
      part = node.temporary(target, Shape.of(sizes));
      node.emit(code, part, rows, node.int32Vector(along), kept(node, code, true));
    }
    Reshape.emit(node, part, output);
  }

  private static int product(List<Integer> dimensions) {
    return dimensions.stream().reduce(1, Math::multiplyExact);
  }

  private static int[] axes(Node node) {
    int rank = node.shapeOf(0).rank();
    boolean[] isTaken = new boolean[rank];
    int[] axes = new int[rank];
    int count = 0;
    for (int axis : node.ints(1)) {
      int counted = node.axis(axis, rank);
      if (!isTaken[counted]) {
        isTaken[counted] = true;
        axes[count++] = counted;
      }
    }
    return Arrays.copyOf(axes, count);
  }

  /** A product with a triangle of ones. */
  private static void runningSum(Node node) {
    CumsumOptions options = node.options(new CumsumOptions());
    boolean isReverse = node.get(options::reverse);
    int shift = node.get(options::exclusive) ? 1 : 0;
    int input = node.in(0);
    Operand data = node.operand(input);
    Shape shape = data.shape();
    int axis = node.axis(node.onlyInt(1), shape.rank());
    node.require(
        shape.isFullySpecified()
            && countOf(shape) <= MAX_ELEMENTS
            && shape.dimension(axis) <= MAX_RUN
            && (data.type() == OperandCode.TENSOR_FLOAT32
                || data.type() == OperandCode.TENSOR_FLOAT16
                || data.type() == OperandCode.TENSOR_INT32),
        "it adds up " + data.text() + " along axis " + axis);
    int size = shape.dimension(axis);
    byte[] one = Constants.element(data.type(), 1);
    Shape square = Shape.of(size, size);
    byte[] none = new byte[one.length];
    byte[] ones = node.constants().filled(square, none, node.input(0)).value();
    for (int to = 0; to < size; to++) {
      for (int from = 0; from < size; from++) {
        boolean isIn = isReverse ? from >= to + shift : from + shift <= to;
        if (isIn) {
          System.arraycopy(one, 0, ones, (to * size + from) * one.length, one.length);
        }
      }
    }
    int triangle = node.constant(data, square, new ConstantCopy(ones));
    int outer = 1;
    int width = 1;
    for (int i = 0; i < shape.rank(); i++) {
      outer *= i < axis ? shape.dimension(i) : 1;
      width *= i > axis ? shape.dimension(i) : 1;
    }
    int all = node.temporary(data, Shape.of(outer, size, size));
    Strided.emit(node, triangle, node.operand(all).shape(), 0, new long[] {0, size, 1}, all);
    int rows = Reshape.reshaped(node, input, Shape.of(outer, size, width));
    int sums =
        node.compute(
            ThalamusExtension.BATCH_MATMUL,
            node.operand(rows),
            node.operand(rows).shape(),
            all,
            rows,
            node.bool(false),
            node.bool(false));
    Reshape.emit(node, sums, shape);
  }

  /** The elements of a shape, as far as these are not beyond all limits. */
  private static long countOf(Shape shape) {
    long count = 1;
    for (int dimension : shape.toArray()) {
      count = Math.min(count * dimension, Integer.MAX_VALUE);
    }
    return count;
  }
}
