// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.file.FlatTensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.PackOptions;
import org.tensorflow.lite.schema.ReshapeOptions;
import org.tensorflow.lite.schema.SqueezeOptions;
import org.tensorflow.lite.schema.UnpackOptions;

/** Operators that change dimensions and not the order of elements, and those that ask for them. */
final class Reshape {
  /** What NNAPI 1.3 does not concatenate. */
  private static final Set<OperandType> UNJOINED =
      Set.of(OperandCode.TENSOR_INT32, OperandCode.TENSOR_BOOL8);

  private Reshape() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.RESHAPE, Reshape::reshape);
    table.add(BuiltinOperator.SQUEEZE, Reshape::squeeze);
    table.add(BuiltinOperator.EXPAND_DIMS, Reshape::expandDims);
    table.add(BuiltinOperator.PACK, Reshape::pack);
    table.add(BuiltinOperator.UNPACK, Reshape::unpack);
    table.add(BuiltinOperator.SHAPE, Reshape::shape);
    table.add(BuiltinOperator.RANK, Reshape::rank);
  }

  /** Adds a RESHAPE from an operand to another, whose shape is known. */
  static void emit(Node node, int from, int to) throws ModelFormatException {
    Shape shape = node.operand(to).shape();
    node.require(shape.isFullySpecified(), "its shape " + shape + " is not known beforehand");
    node.emit(OperationCode.RESHAPE, List.of(from, node.int32Vector(shape.toArray())), to);
  }

  /** The elements of an operand in another shape. */
  static int reshaped(Node node, int operand, Shape shape) throws ModelFormatException {
    if (node.operand(operand).shape().equals(shape)) {
      return operand;
    }
    int target = node.temporary(node.operand(operand), shape);
    emit(node, operand, target);
    return target;
  }

  /** The shape stands in the output, which the file's writer inferred; else in input or options. */
  private static void reshape(Node node) throws ModelFormatException {
    Shape written = TensorTypes.shape(node.output(0));
    int input = node.in(0);
    Operand source = node.operand(input);
    if (source.type() == OperandCode.TENSOR_INT32 && source.shape().equals(written)) {
      node.alias(0, input); // NNAPI reshapes no integers
      return;
    }
    int[] wanted = written.toArray();
    if (!written.isFullySpecified() || isUnknownRank(node, source, written)) {
      wanted = requested(node);
    }
    Shape result = written.rank() == wanted.length ? written : Shape.of(nonNegative(wanted));
    int output = node.out(0, code(source), result, source.quantization());
    node.emit(OperationCode.RESHAPE, List.of(input, node.int32Vector(wanted)), output);
  }

  /** Old converters write no shape where they know none; that looks like a scalar. */
  private static boolean isUnknownRank(Node node, Operand source, Shape written)
      throws ModelFormatException {
    return node.isScalar(node.output(0))
        && source.shape().isFullySpecified()
        && source.shape().elementCount() != written.elementCount();
  }

  private static int[] requested(Node node) throws ModelFormatException {
    if (node.has(1)) {
      return node.ints(1);
    }
    ReshapeOptions options = node.options(BuiltinOptions.ReshapeOptions, new ReshapeOptions());
    return node.operator().checked().ints(options::newShapeLength, options::newShape);
  }

  private static void squeeze(Node node) throws ModelFormatException {
    int input = node.in(0);
    Shape shape = node.operand(input).shape();
    if (node.isScalar(node.output(0)) || node.isScalar(node.input(0))) {
      emit(node, input, node.out(0));
      return;
    }
    SqueezeOptions options = node.options(BuiltinOptions.SqueezeOptions, new SqueezeOptions());
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
    int[] sorted = axes.stream().distinct().sorted().mapToInt(Integer::intValue).toArray();
    node.emit(OperationCode.SQUEEZE, List.of(input, node.int32Vector(sorted)), node.out(0));
  }

  private static void expandDims(Node node) throws ModelFormatException {
    int input = node.in(0);
    if (node.isScalar(node.input(0))) {
      node.alias(0, input); // it has one dimension already
      return;
    }
    int axis = node.axis(node.onlyInt(1), node.operand(input).shape().rank() + 1);
    node.emit(OperationCode.EXPAND_DIMS, List.of(input, node.int32(axis)), node.out(0));
  }

  /** NNAPI 1.3 has no PACK: each part gets its new dimension, then they are joined. */
  private static void pack(Node node) throws ModelFormatException {
    PackOptions options = node.options(BuiltinOptions.PackOptions, new PackOptions());
    node.require(node.inputCount() > 0, "it has no inputs");
    boolean scalars = node.isScalar(node.input(0));
    int rank = scalars ? 1 : node.shapeOf(0).rank() + 1;
    int axis = node.axis(node.get(options::axis), rank);
    if (node.inputCount() == 1 && !scalars) {
      node.emit(OperationCode.EXPAND_DIMS, List.of(node.in(0), node.int32(axis)), node.out(0));
      return;
    }
    Operand first = node.inOperand(0);
    if (!scalars && UNJOINED.contains(first.type())) {
      packTogether(node, axis);
      return;
    }
    List<Integer> parts = new ArrayList<>();
    for (int i = 0; i < node.inputCount(); i++) {
      parts.add(scalars ? node.in(i) : expanded(node, node.in(i), axis));
    }
    parts.add(node.int32(axis));
    node.emit(OperationCode.CONCATENATION, parts, node.out(0));
  }

  /** By the extension io.thalamus. */
  private static void packTogether(Node node, int axis) throws ModelFormatException {
    List<Integer> inputs = new ArrayList<>();
    inputs.add(node.int32(axis));
    for (int i = 0; i < node.inputCount(); i++) {
      inputs.add(node.in(i));
    }
    node.emit(ThalamusExtension.PACK, inputs, node.out(0));
  }

  private static int expanded(Node node, int operand, int axis) throws ModelFormatException {
    Operand part = node.operand(operand);
    List<Integer> dimensions = new ArrayList<>();
    for (int dimension : part.shape().toArray()) {
      dimensions.add(dimension);
    }
    node.require(axis <= dimensions.size(), "its inputs have different ranks");
    dimensions.add(axis, 1);
    Shape shape = Shape.of(dimensions.stream().mapToInt(Integer::intValue).toArray());
    int target = node.temporary(part, shape);
    node.emit(OperationCode.EXPAND_DIMS, List.of(operand, node.int32(axis)), target);
    return target;
  }

  /** The reverse: split, then drop the dimension. */
  private static void unpack(Node node) throws ModelFormatException {
    UnpackOptions options = node.options(BuiltinOptions.UnpackOptions, new UnpackOptions());
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
      node.emit(OperationCode.SQUEEZE, List.of(slices.get(i), node.int32Vector(axis)), node.out(i));
    }
  }

  /** Known while the model is read. */
  private static void shape(Node node) throws ModelFormatException {
    Shape shape = node.shapeOf(0);
    node.require(shape.isFullySpecified(), "the shape " + shape + " is not known beforehand");
    node.require(
        !node.isScalar(node.input(0)), "the shape of a scalar is empty, which NNAPI cannot hold");
    node.alias(0, node.int32Vector(shape.toArray()));
  }

  private static void rank(Node node) throws ModelFormatException {
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
