// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.tflite.file.FlatTensor;
import java.util.Arrays;
import java.util.Set;
import java.util.function.IntBinaryOperator;
import java.util.function.UnaryOperator;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.ConcatenationOptions;
import org.tensorflow.lite.schema.PackOptions;
import org.tensorflow.lite.schema.StridedSliceOptions;
import org.tensorflow.lite.schema.TensorType;

/**
 * Operators over a few integers that are known while the model is read are computed here: models
 * ask for the shape of their data, take it apart, and put another one together for RESHAPE, FILL or
 * TRANSPOSE_CONV, which NNAPI wants to know beforehand. Stateless.
 */
final class ShapeFolding {
  private static final int MOST_ELEMENTS = 1024;

  /** Operators that keep the order of elements, whatever their dimensions. */
  private static final Set<Integer> ORDER_KEEPING =
      Set.of(
          BuiltinOperator.CAST,
          BuiltinOperator.CONCATENATION,
          BuiltinOperator.EXPAND_DIMS,
          BuiltinOperator.PACK,
          BuiltinOperator.RESHAPE,
          BuiltinOperator.SQUEEZE,
          BuiltinOperator.STRIDED_SLICE);

  private ShapeFolding() {}

  /** Computes an operator from its inputs; returns null when only a device can. */
  @FunctionalInterface
  private interface Computation {
    int[] of(Node node, int[][] inputs);
  }

  /** Returns the computation of an operator; null if there is none. Only what is used is linked. */
  private static Computation computation(int operator) {
    return switch (operator) {
      case BuiltinOperator.ADD -> pairwise(Integer::sum);
      case BuiltinOperator.SUB -> pairwise((a, b) -> a - b);
      case BuiltinOperator.MUL -> pairwise((a, b) -> a * b);
      case BuiltinOperator.DIV -> divided((a, b) -> a / b);
      case BuiltinOperator.FLOOR_DIV -> divided(Math::floorDiv);
      case BuiltinOperator.FLOOR_MOD -> divided(Math::floorMod);
      case BuiltinOperator.MAXIMUM -> pairwise(Math::max);
      case BuiltinOperator.MINIMUM -> pairwise(Math::min);
      case BuiltinOperator.LESS -> compared((a, b) -> a < b);
      case BuiltinOperator.LESS_EQUAL -> compared((a, b) -> a <= b);
      case BuiltinOperator.GREATER -> compared((a, b) -> a > b);
      case BuiltinOperator.GREATER_EQUAL -> compared((a, b) -> a >= b);
      case BuiltinOperator.EQUAL -> compared((a, b) -> a == b);
      case BuiltinOperator.NOT_EQUAL -> compared((a, b) -> a != b);
      case BuiltinOperator.LOGICAL_AND -> compared((a, b) -> a != 0 && b != 0);
      case BuiltinOperator.LOGICAL_OR -> compared((a, b) -> a != 0 || b != 0);
      case BuiltinOperator.LOGICAL_NOT ->
          (_, inputs) -> Arrays.stream(inputs[0]).map(a -> a == 0 ? 1 : 0).toArray();
      case BuiltinOperator.CAST,
          BuiltinOperator.RESHAPE,
          BuiltinOperator.SQUEEZE,
          BuiltinOperator.EXPAND_DIMS ->
          (_, inputs) -> inputs[0];
      case BuiltinOperator.PACK -> ShapeFolding::packed;
      case BuiltinOperator.CONCATENATION -> ShapeFolding::concatenated;
      case BuiltinOperator.SUM -> (_, inputs) -> reduced(inputs, 0, Integer::sum);
      case BuiltinOperator.REDUCE_PROD -> (_, inputs) -> reduced(inputs, 1, (a, b) -> a * b);
      case BuiltinOperator.UNSORTED_SEGMENT_PROD -> (_, inputs) -> productsOfSegments(inputs);
      case BuiltinOperator.GATHER -> (_, inputs) -> gathered(inputs);
      case BuiltinOperator.SLICE -> (_, inputs) -> sliced(inputs);
      case BuiltinOperator.STRIDED_SLICE -> ShapeFolding::stridedSlice;
      case BuiltinOperator.RANGE -> (_, inputs) -> range(inputs);
      case BuiltinOperator.FILL -> (_, inputs) -> filled(inputs);
      case BuiltinOperator.BROADCAST_ARGS -> (_, inputs) -> broadcastShape(inputs);
      default -> null;
    };
  }

  /**
   * Computes the operator, if that can be done, and lets its output stand for the result.
   *
   * @return whether that was so
   */
  static boolean compute(Node node) {
    switch (node.operator().kind().code()) {
      case BuiltinOperator.SPLIT -> {
        return inParts(node, 1, values -> equally(values.length, node.outputCount()));
      }
      case BuiltinOperator.UNPACK -> {
        return inParts(node, 0, values -> equally(values.length, values.length));
      }
      case BuiltinOperator.SPLIT_V -> {
        return inParts(node, 0, values -> node.isKnown(1) ? completed(values, node.ints(1)) : null);
      }
      default -> {
        // of one output
      }
    }
    Computation computation = computation(node.operator().kind().code());
    if (computation == null || node.outputCount() != 1 || !isSmall(node.output(0))) {
      return false;
    }
    boolean anyRank = ORDER_KEEPING.contains(node.operator().kind().code());
    int[][] inputs = new int[node.inputCount()][];
    for (int i = 0; i < inputs.length; i++) {
      if (!node.has(i)
          || !isSmall(node.input(i))
          || !anyRank && node.input(i).shape().length > 1
          || !node.isKnown(i)) {
        return false;
      }
      inputs[i] = node.ints(i);
    }
    int[] result = inputs.length == 0 ? null : computation.of(node, inputs);
    if (result == null || result.length == 0 || result.length > MOST_ELEMENTS) {
      return false;
    }
    Shape written = TensorTypes.shape(node.output(0));
    boolean fits = written.isFullySpecified() && written.elementCount() == result.length;
    Shape shape = fits ? written : shape(node, inputs, result.length);
    node.alias(
        0,
        node.output(0).is(TensorType.BOOL)
            ? truths(node, shape, result)
            : node.int32Tensor(shape, result));
    return true;
  }

  /** The shape of a result of which the file does not say the right one. */
  private static Shape shape(Node node, int[][] inputs, int count) {
    int code = node.operator().kind().code();
    if (code == BuiltinOperator.RESHAPE && inputs.length == 2) {
      int[] sizes = inputs[1].clone();
      long named =
          Arrays.stream(sizes).filter(size -> size >= 0).asLongStream().reduce(1, (a, b) -> a * b);
      for (int i = 0; i < sizes.length; i++) {
        sizes[i] = sizes[i] < 0 && named > 0 ? (int) (count / named) : sizes[i];
      }
      boolean isWhole = Arrays.stream(sizes).allMatch(size -> size > 0);
      if (isWhole && sizes.length > 0 && Shape.of(sizes).elementCount() == count) {
        return Shape.of(sizes);
      }
    }
    return Shape.of(count);
  }

  private static int[] equally(int length, int parts) {
    int[] sizes = new int[parts];
    Arrays.fill(sizes, parts == 0 ? 0 : length / parts);
    return sizes;
  }

  /** Sizes of which one may be -1, which stands for the rest. */
  private static int[] completed(int[] values, int[] sizes) {
    int named = Arrays.stream(sizes).filter(size -> size > 0).sum();
    return Arrays.stream(sizes).map(size -> size < 0 ? values.length - named : size).toArray();
  }

  /** Takes a vector apart; a part without elements has no operand, and is known by its shape. */
  private static boolean inParts(Node node, int input, UnaryOperator<int[]> wanted) {
    if (!node.has(input)
        || !isVector(node, input)
        || !isSmall(node.input(input))
        || !node.isKnown(input)) {
      return false;
    }
    int[] values = node.ints(input);
    int[] sizes = wanted.apply(values);
    if (sizes == null
        || sizes.length != node.outputCount()
        || Arrays.stream(sizes).anyMatch(size -> size < 0 || size > values.length)
        || Arrays.stream(sizes).sum() != values.length) {
      return false;
    }
    for (int i = 0; i < sizes.length; i++) {
      boolean isEmpty = Arrays.equals(node.output(i).shape(), new int[] {0});
      if (!isSmall(node.output(i))
          || node.output(i).is(TensorType.BOOL)
          || sizes[i] == 0 && !isEmpty) {
        return false;
      }
    }
    int start = 0;
    for (int i = 0; i < sizes.length; i++) {
      if (sizes[i] > 0) {
        int[] part = Arrays.copyOfRange(values, start, start + sizes[i]);
        node.alias(i, node.int32Tensor(Shape.of(sizes[i]), part));
      }
      start += sizes[i];
    }
    return true;
  }

  private static int truths(Node node, Shape shape, int[] values) {
    byte[] bytes = new byte[values.length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (values[i] != 0 ? 1 : 0);
    }
    return node.constant(
        OperandCode.TENSOR_BOOL8, shape, Quantization.NONE, new ConstantCopy(bytes));
  }

  private static Computation compared(Comparison comparison) {
    return pairwise((a, b) -> comparison.holds(a, b) ? 1 : 0);
  }

  /** A relation of two integers. */
  @FunctionalInterface
  private interface Comparison {
    boolean holds(int a, int b);
  }

  /** Returns whether an input has one dimension; a file may leave out those of a computed one. */
  private static boolean isVector(Node node, int input) {
    return node.input(input).shape().length <= 1 && !node.isScalar(node.input(input));
  }

  /** Returns whether a tensor holds a few plain integers or truths. */
  private static boolean isSmall(FlatTensor tensor) {
    long count = 1;
    for (int dimension : tensor.shape()) {
      count = Math.min(count * Math.max(1, dimension), 2L * MOST_ELEMENTS);
    }
    return (tensor.is(TensorType.INT32)
            || tensor.is(TensorType.INT64)
            || tensor.is(TensorType.BOOL))
        && tensor.scales().length == 0
        && count <= MOST_ELEMENTS;
  }

  /** Along another axis than the first, elements would change their order. */
  private static int[] packed(Node node, int[][] inputs) {
    PackOptions options = node.options(new PackOptions());
    boolean inOrder = node.get(options::axis) == 0 || node.input(0).shape().length == 0;
    return inOrder ? joined(inputs) : null;
  }

  private static int[] concatenated(Node node, int[][] inputs) {
    ConcatenationOptions options = node.options(new ConcatenationOptions());
    boolean inOrder = node.get(options::axis) == 0 || node.input(0).shape().length == 1;
    return inOrder ? joined(inputs) : null;
  }

  private static Computation pairwise(IntBinaryOperator operator) {
    return (_, inputs) -> {
      if (inputs.length != 2) {
        return null;
      }
      int[] a = inputs[0];
      int[] b = inputs[1];
      if (a.length != b.length && a.length != 1 && b.length != 1) {
        return null;
      }
      int[] result = new int[a.length == 1 ? b.length : a.length];
      for (int i = 0; i < result.length; i++) {
        result[i] = operator.applyAsInt(a[a.length == 1 ? 0 : i], b[b.length == 1 ? 0 : i]);
      }
      return result;
    };
  }

  private static Computation divided(IntBinaryOperator operator) {
    Computation pairs = pairwise(operator);
    return (node, inputs) ->
        inputs.length == 2 && Arrays.stream(inputs[1]).noneMatch(divisor -> divisor == 0)
            ? pairs.of(node, inputs)
            : null;
  }

  private static int[] joined(int[][] inputs) {
    return Arrays.stream(inputs).flatMapToInt(Arrays::stream).toArray();
  }

  /** The second input are the axes, of which there is only one. */
  private static int[] reduced(int[][] inputs, int neutral, IntBinaryOperator operator) {
    return inputs.length == 2
        ? new int[] {Arrays.stream(inputs[0]).reduce(neutral, operator)}
        : null;
  }

  /** Dimensions that are joined: the second input names the product that each is a factor of. */
  private static int[] productsOfSegments(int[][] inputs) {
    if (inputs.length != 3
        || inputs[1].length != inputs[0].length
        || inputs[2].length != 1
        || inputs[2][0] < 0
        || inputs[2][0] > MOST_ELEMENTS) {
      return null;
    }
    int[] products = new int[inputs[2][0]];
    Arrays.fill(products, 1);
    for (int i = 0; i < inputs[0].length; i++) {
      int segment = inputs[1][i];
      if (segment >= products.length) {
        return null;
      }
      if (segment >= 0) {
        products[segment] *= inputs[0][i];
      }
    }
    return products;
  }

  private static int[] gathered(int[][] inputs) {
    if (inputs.length != 2
        || Arrays.stream(inputs[1]).anyMatch(index -> index < 0 || index >= inputs[0].length)) {
      return null;
    }
    return Arrays.stream(inputs[1]).map(index -> inputs[0][index]).toArray();
  }

  private static int[] sliced(int[][] inputs) {
    if (inputs.length != 3 || inputs[1].length != 1 || inputs[2].length != 1) {
      return null;
    }
    long begin = inputs[1][0];
    long end = inputs[2][0] == -1 ? inputs[0].length : begin + inputs[2][0];
    return begin < 0 || end < begin || end > inputs[0].length
        ? null
        : Arrays.copyOfRange(inputs[0], (int) begin, (int) end);
  }

  private static int[] stridedSlice(Node node, int[][] inputs) {
    StridedSliceOptions options = node.options(new StridedSliceOptions());
    if (isWhole(node, inputs, options)) {
      return inputs[0];
    }
    if (inputs.length != 4
        || !isVector(node, 0)
        || inputs[1].length != 1
        || inputs[2].length != 1
        || inputs[3].length != 1
        || inputs[3][0] <= 0
        || node.get(options::ellipsisMask) != 0
        || node.get(options::newAxisMask) != 0) {
      return null;
    }
    int[] values = inputs[0];
    boolean isOne = node.get(options::shrinkAxisMask) != 0;
    int begin = node.get(options::beginMask) != 0 ? 0 : counted(inputs[1][0], values.length);
    int end = values.length;
    if (isOne) {
      end = Math.min(begin + 1, values.length);
    } else if (node.get(options::endMask) == 0) {
      int given = node.get(options::offset) ? inputs[1][0] + inputs[2][0] : inputs[2][0];
      end = counted(given, values.length);
    }
    int stride = inputs[3][0];
    int count = end <= begin ? 0 : (end - begin - 1) / stride + 1;
    int[] result = new int[count];
    for (int i = 0; i < count; i++) {
      result[i] = values[begin + i * stride];
    }
    return result;
  }

  /** Returns whether all of a tensor of any rank is taken, as converters like to do. */
  private static boolean isWhole(Node node, int[][] inputs, StridedSliceOptions options) {
    int[] shape = node.input(0).shape();
    boolean isWhole =
        inputs.length == 4
            && inputs[1].length == shape.length
            && inputs[2].length == shape.length
            && inputs[3].length == shape.length
            && Arrays.stream(inputs[3]).allMatch(stride -> stride == 1)
            && node.get(options::ellipsisMask) == 0
            && node.get(options::newAxisMask) == 0
            && node.get(options::shrinkAxisMask) == 0
            && !node.get(options::offset);
    for (int i = 0; isWhole && i < shape.length; i++) {
      boolean fromStart = inputs[1][i] == 0 || (node.get(options::beginMask) >> i & 1) != 0;
      boolean toEnd = inputs[2][i] >= shape[i] || (node.get(options::endMask) >> i & 1) != 0;
      isWhole = fromStart && toEnd;
    }
    return isWhole;
  }

  private static int counted(int index, int length) {
    return Math.clamp(index < 0 ? (long) index + length : index, 0, length);
  }

  private static int[] range(int[][] inputs) {
    if (inputs.length != 3 || inputs[2][0] == 0) {
      return null;
    }
    long start = inputs[0][0];
    long step = inputs[2][0];
    long count = Math.ceilDiv(inputs[1][0] - start, step);
    if (count <= 0 || count > MOST_ELEMENTS) {
      return null;
    }
    int[] result = new int[(int) count];
    for (int i = 0; i < result.length; i++) {
      result[i] = (int) (start + i * step);
    }
    return result;
  }

  private static int[] filled(int[][] inputs) {
    if (inputs.length != 2
        || inputs[0].length != 1
        || inputs[1].length != 1
        || inputs[0][0] < 0
        || inputs[0][0] > MOST_ELEMENTS) {
      return null;
    }
    int[] result = new int[inputs[0][0]];
    Arrays.fill(result, inputs[1][0]);
    return result;
  }

  /** The shape to which two shapes broadcast. */
  private static int[] broadcastShape(int[][] inputs) {
    if (inputs.length != 2) {
      return null;
    }
    int rank = Math.max(inputs[0].length, inputs[1].length);
    int[] result = new int[rank];
    for (int i = 0; i < rank; i++) {
      int a = dimension(inputs[0], rank, i);
      int b = dimension(inputs[1], rank, i);
      if (a != b && a != 1 && b != 1) {
        return null;
      }
      result[i] = a == 1 ? b : a;
    }
    return result;
  }

  private static int dimension(int[] shape, int rank, int index) {
    int own = index - (rank - shape.length);
    return own < 0 ? 1 : shape[own];
  }
}
