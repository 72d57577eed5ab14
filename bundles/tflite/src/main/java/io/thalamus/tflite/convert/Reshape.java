// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.convert.Rfft.Complex;
import io.thalamus.tflite.file.FlatTensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.PackOptions;
import org.tensorflow.lite.schema.ReshapeOptions;
import org.tensorflow.lite.schema.SqueezeOptions;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.UnpackOptions;

/** Operators that change dimensions and not the order of elements, and those that ask for them. */
final class Reshape {
  private static final int MAX_RANK = 4;

  private Reshape() {}

  static void addTo(Converters table) {
    table.add(
        BuiltinOperator.RESHAPE,
        ofParts(Reshape::reshape, (node, shape) -> resolved(shape, wanted(node, shape))));
    table.add(
        BuiltinOperator.SQUEEZE,
        ofParts(Reshape::squeeze, (node, shape) -> without(shape, squeezed(node, shape))));
    table.add(
        BuiltinOperator.EXPAND_DIMS,
        ofParts(
            Reshape::expandDims,
            (node, shape) -> inserted(node, shape, node.axis(node.onlyInt(1), shape.rank() + 1))));
    table.add(BuiltinOperator.PACK, Reshape::pack);
    table.add(BuiltinOperator.UNPACK, Reshape::unpack);
    table.add(BuiltinOperator.SHAPE, Reshape::shape);
    table.add(BuiltinOperator.RANK, Reshape::rank);
  }

  /** The two parts of complex numbers stay as they are, and have another shape. */
  private static Consumer<Node> ofParts(
      Consumer<Node> converter, BiFunction<Node, Shape, Shape> rule) {
    return node -> {
      if (node.input(0).is(TensorType.COMPLEX64)) {
        Complex parts = node.complex(0);
        Shape shape = rule.apply(node, parts.shape());
        node.require(
            shape.isFullySpecified() && shape.elementCount() == parts.shape().elementCount(),
            "its numbers of shape %s do not fill %s".formatted(parts.shape(), shape));
        node.setComplex(0, new Complex(parts.real(), parts.imaginary(), shape));
      } else {
        converter.accept(node);
      }
    };
  }

  /** Adds a RESHAPE from an operand to another, whose shape is known. */
  static void emit(Node node, int from, int to) {
    Shape shape = node.operand(to).shape();
    node.require(shape.isFullySpecified(), "its shape " + shape + " is not known beforehand");
    if (Strided.isBeyond(node.operand(from))) {
      Strided.reshape(node, from, shape, to);
      return;
    }
    node.emit(OperationCode.RESHAPE, to, from, node.int32Vector(shape.toArray()));
  }

  /** Gives the first output, in the shape that was computed: the file may not have known it. */
  static void emit(Node node, int from, Shape shape) {
    int output = node.out(0);
    node.builder().reshape(output, shape);
    emit(node, from, output);
  }

  /** The elements of an operand in another shape. */
  static int reshaped(Node node, int operand, Shape shape) {
    if (node.operand(operand).shape().equals(shape)) {
      return operand;
    }
    int target = node.temporary(node.operand(operand), shape);
    emit(node, operand, target);
    return target;
  }

  /** The shape stands in the output, which the file's writer inferred; else in input or options. */
  private static void reshape(Node node) {
    Shape written = TensorTypes.shape(node.output(0));
    int input = node.in(0);
    Operand source = node.operand(input);
    int[] wanted = wanted(node, source.shape());
    if (!Strided.isBeyond(source)) {
      Shape result = written.rank() == wanted.length ? written : Shape.of(nonNegative(wanted));
      int output = node.out(0, code(source), result, source.quantization());
      node.emit(OperationCode.RESHAPE, output, input, node.int32Vector(wanted));
      return;
    }
    if (!source.shape().isFullySpecified() && source.type() == OperandCode.TENSOR_INT32) {
      reshapeOpen(node, input, wanted);
      return;
    }
    Shape result = resolved(source.shape(), wanted);
    if (result.equals(source.shape())) {
      node.alias(0, input);
      return;
    }
    Strided.reshape(node, input, result, node.out(0, code(source), result, source.quantization()));
  }

  /**
   * Integers of a size that only an execution determines: AS_STRIDED wants to know it, and NNAPI's
   * RESHAPE has reals alone, which hold either half of an integer exactly.
   */
  private static void reshapeOpen(Node node, int input, int[] wanted) {
    Shape open = node.operand(input).shape();
    Shape shape = Shape.of(nonNegative(wanted));
    int half = node.int32Vector(1 << 16);
    Operand like = node.operand(input);
    int high = node.compute(ThalamusExtension.FLOOR_DIV, like, open, input, half);
    int whole = node.compute(OperationCode.MUL, like, open, high, half);
    int low = node.compute(OperationCode.SUB, like, open, input, whole);
    int[] parts = {high, low};
    for (int i = 0; i < parts.length; i++) {
      int real = node.compute(OperationCode.CAST, OperandCode.TENSOR_FLOAT32, open, parts[i]);
      int moved =
          node.compute(
              OperationCode.RESHAPE,
              OperandCode.TENSOR_FLOAT32,
              shape,
              real,
              node.int32Vector(wanted));
      parts[i] = node.temporary(OperandCode.TENSOR_INT32, shape, Quantization.NONE);
      node.emit(OperationCode.CAST, parts[i], moved);
    }
    int back = node.compute(OperationCode.MUL, like, shape, parts[0], half);
    node.emit(
        OperationCode.ADD,
        node.out(0, OperandCode.TENSOR_INT32, shape, Quantization.NONE),
        back,
        parts[1]);
  }

  /** The shape of the result, of which one dimension may be -1. */
  private static int[] wanted(Node node, Shape source) {
    Shape written = TensorTypes.shape(node.output(0));
    boolean isStated =
        isPlausible(source, written)
            && (source.isFullySpecified()
                || TensorTypes.openShape(node.output(0)).isFullySpecified());
    return isStated ? written.toArray() : requested(node);
  }

  /** Converters that know no shape write none or a wrong one. */
  private static boolean isPlausible(Shape source, Shape written) {
    return written.isFullySpecified()
        && (!source.isFullySpecified() || source.elementCount() == written.elementCount());
  }

  /** A shape of which one dimension may be -1. */
  private static Shape resolved(Shape source, int[] wanted) {
    int[] dimensions = wanted.length == 0 ? new int[] {1} : wanted.clone();
    long named = 1;
    for (int dimension : dimensions) {
      named = Math.multiplyExact(named, dimension == -1 ? 1L : dimension);
    }
    for (int i = 0; i < dimensions.length; i++) {
      if (dimensions[i] == -1 && named > 0) {
        dimensions[i] = Math.toIntExact(source.elementCount() / named);
        break;
      }
    }
    return Shape.of(nonNegative(dimensions));
  }

  private static int[] requested(Node node) {
    if (node.has(1)) {
      return node.ints(1);
    }
    ReshapeOptions options = node.options(new ReshapeOptions());
    return node.operator().checked().ints(options::newShapeLength, options::newShape);
  }

  private static void squeeze(Node node) {
    int input = node.in(0);
    Shape shape = node.operand(input).shape();
    if (node.isScalar(node.output(0)) || node.isScalar(node.input(0))) {
      emit(node, input, node.out(0));
      return;
    }
    int[] sorted = squeezed(node, shape);
    if (Strided.isBeyond(node.operand(input))) {
      Strided.reshape(node, input, without(shape, sorted), node.out(0));
      return;
    }
    node.emit(OperationCode.SQUEEZE, node.out(0), input, node.int32Vector(sorted));
  }

  /** The axes that SQUEEZE takes away, in order. */
  private static int[] squeezed(Node node, Shape shape) {
    SqueezeOptions options = node.options(new SqueezeOptions());
    int[] dimensions =
        node.operator().checked().ints(options::squeezeDimsLength, options::squeezeDims);
    List<Integer> axes = new ArrayList<>();
    for (int dimension : dimensions) {
      axes.add(node.axis(dimension, shape.rank()));
    }
    for (int i = 0; i < shape.rank() && dimensions.length == 0; i++) {
      if (shape.dimension(i) == 1) {
        axes.add(i);
      }
    }
    return axes.stream().distinct().sorted().mapToInt(Integer::intValue).toArray();
  }

  private static Shape without(Shape shape, int... axes) {
    List<Integer> kept = new ArrayList<>();
    for (int i = 0; i < shape.rank(); i++) {
      if (Arrays.binarySearch(axes, i) < 0) {
        kept.add(shape.dimension(i));
      }
    }
    return kept.isEmpty()
        ? Shape.of(1)
        : Shape.of(kept.stream().mapToInt(Integer::intValue).toArray());
  }

  private static void expandDims(Node node) {
    int input = node.in(0);
    if (node.isScalar(node.input(0))) {
      node.alias(0, input); // it has one dimension already
      return;
    }
    Operand source = node.operand(input);
    int axis = node.axis(node.onlyInt(1), source.shape().rank() + 1);
    if (source.type() == OperandCode.TENSOR_BOOL8) {
      Strided.reshape(node, input, inserted(node, source.shape(), axis), node.out(0));
      return;
    }
    node.emit(OperationCode.EXPAND_DIMS, node.out(0), input, node.int32(axis));
  }

  /** NNAPI 1.3 has no PACK: each part gets its new dimension, then they are joined. */
  private static void pack(Node node) {
    PackOptions options = node.options(new PackOptions());
    node.require(node.inputCount() > 0, "it has no inputs");
    boolean scalars = node.isScalar(node.input(0));
    int rank = scalars ? 1 : node.shapeOf(0).rank() + 1;
    int axis = node.axis(node.get(options::axis), rank);
    Operand first = node.inOperand(0);
    boolean beyond = Strided.isBeyond(first) || rank > MAX_RANK;
    if (beyond && !scalars) {
      packTogether(node, axis);
      return;
    }
    if (node.inputCount() == 1 && !scalars) {
      node.emit(OperationCode.EXPAND_DIMS, node.out(0), node.in(0), node.int32(axis));
      return;
    }
    List<Integer> parts = new ArrayList<>();
    for (int i = 0; i < node.inputCount(); i++) {
      parts.add(scalars ? node.in(i) : expanded(node, node.in(i), axis));
    }
    parts.add(node.int32(axis));
    node.emit(
        beyond ? ThalamusExtension.CONCATENATION : OperationCode.CONCATENATION, parts, node.out(0));
  }

  /** By the extension io.thalamus. */
  private static void packTogether(Node node, int axis) {
    List<Integer> inputs = node.insFrom(0);
    inputs.addFirst(node.int32(axis));
    node.emit(ThalamusExtension.PACK, inputs, node.out(0));
  }

  private static int expanded(Node node, int operand, int axis) {
    Operand part = node.operand(operand);
    Shape shape = inserted(node, part.shape(), axis);
    return node.compute(OperationCode.EXPAND_DIMS, part, shape, operand, node.int32(axis));
  }

  /** A shape with another dimension of size 1. */
  private static Shape inserted(Node node, Shape shape, int axis) {
    List<Integer> dimensions = new ArrayList<>();
    for (int dimension : shape.toArray()) {
      dimensions.add(dimension);
    }
    node.require(axis <= dimensions.size(), "its inputs have different ranks");
    dimensions.add(axis, 1);
    return Shape.of(dimensions.stream().mapToInt(Integer::intValue).toArray());
  }

  /** The reverse: split, then drop the dimension. */
  private static void unpack(Node node) {
    UnpackOptions options = node.options(new UnpackOptions());
    int input = node.in(0);
    Operand whole = node.operand(input);
    int count = node.outputCount();
    int axis = node.axis(node.get(options::axis), whole.shape().rank());
    node.require(
        count > 0 && whole.shape().dimension(axis) == count,
        "it has " + count + " outputs and its input shape " + whole.shape());
    boolean scalars = node.isScalar(node.output(0));
    List<Integer> slices = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      slices.add(scalars ? node.out(i) : node.temporary(whole, whole.shape().with(axis, 1)));
    }
    node.emit(OperationCode.SPLIT, List.of(input, node.int32(axis), node.int32(count)), slices);
    for (int i = 0; i < count && !scalars; i++) {
      int output = node.out(i);
      if (Strided.isBeyond(whole)) {
        Strided.reshape(node, slices.get(i), without(whole.shape(), axis), output);
      } else {
        node.emit(OperationCode.SQUEEZE, output, slices.get(i), node.int32Vector(axis));
      }
    }
  }

  /** Known while the model is read, but for dimensions that only an execution determines. */
  private static void shape(Node node) {
    Shape shape = node.shapeOf(0);
    if (node.isScalar(node.input(0))) {
      if (node.isResult(0)) { // operators know that it is empty, and ask for no operand
        node.alias(0, Sizes.nothing(node));
      }
      return;
    }
    if (shape.isFullySpecified() && shape.rank() > 0) {
      node.alias(0, node.int32Vector(shape.toArray()));
      return;
    }
    node.require(shape.rank() > 0, "not even the number of dimensions is known beforehand");
    List<Integer> sizes = new ArrayList<>();
    for (int axis = 0; axis < shape.rank(); axis++) {
      int size = shape.dimension(axis);
      sizes.add(size > 0 ? node.int32Vector(size) : size(node, node.in(0), axis));
    }
    sizes.add(node.int32(0));
    node.emit(
        ThalamusExtension.CONCATENATION,
        sizes,
        node.out(0, OperandCode.TENSOR_INT32, Shape.of(shape.rank()), Quantization.NONE));
  }

  /** The sum of a one for each place along an axis, as a product, which is exact. */
  private static int size(Node node, int operand, int axis) {
    Operand data = node.operand(operand);
    int line = operand;
    if (data.type() != OperandCode.TENSOR_FLOAT32) {
      line = node.temporary(OperandCode.TENSOR_FLOAT32, data.shape(), Quantization.NONE);
      node.emit(ThalamusExtension.CAST, line, operand);
    }
    Operand real = node.operand(line);
    int[] sizes = new int[data.shape().rank()];
    Arrays.fill(sizes, 1);
    sizes[axis] = -1;
    int begin = node.int32Vector(new int[sizes.length]);
    Shape first = Shape.of(nonNegative(sizes));
    line = node.compute(OperationCode.SLICE, real, first, line, begin, node.int32Vector(sizes));
    Shape open = Shape.of(0);
    line = node.compute(OperationCode.RESHAPE, real, open, line, node.int32Vector(-1));
    int truth = node.compute(OperationCode.EQUAL, OperandCode.TENSOR_BOOL8, open, line, line);
    // NaN is not equal to itself.
    int either =
        node.compute(
            OperationCode.LOGICAL_OR,
            truth,
            truth,
            node.compute(OperationCode.LOGICAL_NOT, truth, truth));
    int ones = node.compute(ThalamusExtension.CAST, OperandCode.TENSOR_INT32, open, either);
    Operand whole = node.operand(ones);
    int row = node.compute(OperationCode.EXPAND_DIMS, whole, Shape.of(1, 0), ones, node.int32(0));
    int column =
        node.compute(OperationCode.EXPAND_DIMS, whole, Shape.of(0, 1), ones, node.int32(1));
    int count =
        node.compute(
            ThalamusExtension.BATCH_MATMUL,
            whole,
            Shape.of(1, 1),
            row,
            column,
            node.bool(false),
            node.bool(false));
    return reshaped(node, count, Shape.of(1));
  }

  private static void rank(Node node) {
    FlatTensor tensor = node.input(0);
    node.alias(0, node.int32Vector(tensor.shape().length));
  }

  private static OperandCode code(Operand operand) {
    return (OperandCode) operand.type();
  }

  private static int[] nonNegative(int[] dimensions) {
    int[] changed = dimensions.clone();
    for (int i = 0; i < changed.length; i++) {
      changed[i] = Math.max(0, changed[i]);
    }
    return changed;
  }
}
