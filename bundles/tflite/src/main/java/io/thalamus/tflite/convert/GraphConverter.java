// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ValidationException;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tflite.convert.Node.Reading;
import io.thalamus.tflite.convert.Rfft.Complex;
import io.thalamus.tflite.file.FlatGraph;
import io.thalamus.tflite.file.FlatOperator;
import io.thalamus.tflite.file.FlatTensor;
import io.thalamus.tflite.file.Refusal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;

/**
 * One graph on its way from tensors to operands: knows which operand stands for which tensor. An
 * operand comes into being when it is first needed, so that tensors which nothing uses are left
 * out. Used once; not thread-safe.
 */
final class GraphConverter {
  /** Operators whose results may depend on more than their inputs. */
  private static final Set<Integer> READING_STATES =
      Set.of(BuiltinOperator.READ_VARIABLE, BuiltinOperator.IF, BuiltinOperator.WHILE);

  private final ModelConverter model;
  private final EntryPoint entry;
  private final FlatGraph graph;
  private final Constants constants;
  private final Converters converters;
  private final boolean isInner;
  private final boolean isOfMain;
  private final SubgraphBuilder builder;
  private final Rows rows;
  private final Set<Integer> fixed = new HashSet<>();
  private final Assignments operandOfTensor = new Assignments();
  private final Assignments floatsOfTensor = new Assignments();
  private final Assignments realOfOperand = new Assignments();
  private final Refusals refusals = new Refusals();
  private final Set<Integer> graphOutputs = new HashSet<>();
  private final Map<Integer, Shape> openShapes = new HashMap<>();
  private final Map<Integer, FlatTensor> standIns = new HashMap<>();
  private final Map<Integer, Complex> complexOfTensor = new HashMap<>();

  /** A graph of its own. */
  GraphConverter(
      ModelConverter model, EntryPoint entry, Constants constants, Converters converters) {
    this(model, entry, constants, converters, null);
  }

  private GraphConverter(
      ModelConverter model,
      EntryPoint entry,
      Constants constants,
      Converters converters,
      GraphConverter outer) {
    this.isInner = outer != null;
    this.isOfMain = outer == null ? entry.isMain() : outer.isOfMain;
    this.builder = outer == null ? new SubgraphBuilder() : outer.builder;
    this.rows = outer == null ? new Rows() : outer.rows;
    this.model = model;
    this.entry = entry;
    this.graph = entry.graph();
    this.constants = constants;
    this.converters = converters;
  }

  /**
   * Converts it.
   *
   * @param known by number of the input, constants that inputs always are
   */
  Subgraph convert(Map<Integer, Operand> known) {
    List<Integer> inputs = new ArrayList<>();
    for (int i = 0; i < graph.inputs().length; i++) {
      int index = graph.inputs()[i];
      if (operandOfTensor.contains(index)) {
        throw new Refusal(
            "the file is damaged: " + tensor(index).text() + " is listed twice as an input");
      }
      inputs.add(builder.operand(entry.input(i)));
      operandOfTensor.put(index, inputs.getLast());
    }
    known.forEach(
        (input, operand) ->
            operandOfTensor.replace(graph.inputs()[input], builder.operand(operand)));
    for (int index : graph.inputs()) {
      FlatTensor tensor = tensor(index);
      int given = operandOfTensor.get(index);
      if (border(tensor).isPresent()) {
        operandOfTensor.replace(
            index, compute(ThalamusExtension.CAST, TensorTypes.code(tensor), List.of(given)));
      } else if (isStored16(tensor)) {
        operandOfTensor.replace(index, Wide16.real(this, tensor, given));
      }
    }
    for (int index : entry.outputs()) {
      graphOutputs.add(index);
    }
    for (FlatOperator operator : graph.operators()) {
      convert(operator);
    }
    refusals.check();
    List<Integer> outputs = outputs();
    if (entry.isMain()) {
      List<Integer> states = List.copyOf(model.variables().inputs());
      List<Integer> results = model.variables().results();
      model.variables().findFirstValues(builder, constants, inputs.size());
      for (int i = 0; i < states.size(); i++) {
        String name = builder.get(states.get(i)).name() + ".next";
        outputs.add(stateOutput(written(results.get(i)), name));
      }
      inputs.addAll(states);
    }
    return builder.build(inputs, outputs);
  }

  /** Returns whether its operations are those of the graph that the user calls. */
  boolean isOfMain() {
    return isOfMain;
  }

  /** Another graph of the file, whose operations are added to those of this one. */
  GraphConverter inner(FlatGraph other) {
    return new GraphConverter(model, EntryPoint.of(other), constants, converters, this);
  }

  /** Notes that an inner graph is given the same again where it gives back an input as it is. */
  void fixPassedInputs() {
    for (int i = 0; i < graph.inputs().length && i < graph.outputs().length; i++) {
      if (graph.inputs()[i] == graph.outputs()[i]) {
        fixed.add(graph.inputs()[i]);
      }
    }
  }

  /**
   * Adds the operations of an inner graph, and once only those that compute of constants.
   *
   * @param given the operands of its inputs
   * @return the operands of its outputs
   * @throws Refusal also where it has another number of inputs
   */
  List<Integer> inline(List<Integer> given) {
    operandOfTensor.retain(index -> tensor(index).isConstant() || fixed.contains(index));
    standIns.keySet().retainAll(fixed);
    complexOfTensor.clear();
    if (given.size() != graph.inputs().length) {
      throw new Refusal(
          "graph %d has %d inputs and gets %d"
              .formatted(graph.index(), graph.inputs().length, given.size()));
    }
    for (int i = 0; i < given.size(); i++) {
      int index = graph.inputs()[i];
      if (!fixed.contains(index) || !operandOfTensor.contains(index)) {
        alias(tensor(index), given.get(i));
      }
    }
    for (FlatOperator operator : graph.operators()) {
      if (operator.outputs().length > 0
          && IntStream.of(operator.outputs()).allMatch(fixed::contains)) {
        continue;
      }
      model.countInlined();
      convert(operator);
      boolean mayDiffer =
          READING_STATES.contains(operator.kind().code())
              && !IntStream.of(operator.outputs()).allMatch(this::isFixed);
      if (!mayDiffer && IntStream.of(operator.inputs()).allMatch(this::isFixed)) {
        IntStream.of(operator.outputs()).forEach(fixed::add);
      }
    }
    refusals.check();
    return Arrays.stream(graph.outputs()).mapToObj(index -> unwritten(tensor(index))).toList();
  }

  private boolean isFixed(int index) {
    return index < 0 || tensor(index).isConstant() || fixed.contains(index);
  }

  /** Takes back the operands and operations that were added since a moment. */
  void truncate(SubgraphBuilder.Mark mark) {
    for (int i = mark.operands(); i < builder.mark().operands(); i++) {
      openShapes.remove(i);
    }
    builder.truncate(mark);
    rows.truncate(mark);
  }

  private void convert(FlatOperator operator) {
    if (refusals.concern(operator)) {
      return;
    }
    try {
      Node node = new Node(this, operator, Reading.STORED);
      if (!ShapeFolding.compute(node)
          && !RealFolding.compute(node)
          && !(isInner && rows.compute(node))) {
        convertOrFallBack(operator);
      }
    } catch (Refusal e) {
      refusals.add(operator, text(operator) + ": " + e.getMessage(), e);
    } catch (ArithmeticException e) {
      refusals.add(operator, text(operator) + ": its dimensions are beyond counting", e);
    }
  }

  /**
   * Computes on real numbers if NNAPI does not have the operator on quantized ones, and on 32 bits
   * if it does not have it on truth values or on integers of 8 bits.
   */
  private void convertOrFallBack(FlatOperator operator) {
    Node node = new Node(this, operator, Reading.STORED);
    Consumer<Node> converter =
        converters.find(operator.kind()).orElseThrow(() -> node.refuse(unknown(operator)));
    SubgraphBuilder.Mark mark = builder.mark();
    int[] sizes = {operandOfTensor.size(), floatsOfTensor.size(), realOfOperand.size()};
    try {
      converter.accept(node);
      node.storeOutputs();
    } catch (Refusal e) {
      boolean isReal = FloatFallback.isPossible(node);
      if (!isReal && !Bits.mayBeWhole(node)) {
        throw e;
      }
      Node other = new Node(this, operator, isReal ? Reading.REAL : Reading.WHOLE);
      truncate(mark);
      operandOfTensor.truncate(sizes[0]);
      floatsOfTensor.truncate(sizes[1]);
      realOfOperand.truncate(sizes[2]);
      try {
        converter.accept(other);
        other.storeOutputs();
      } catch (Refusal second) {
        throw isReal ? second : e;
      }
    }
  }

  private static String unknown(FlatOperator operator) {
    return operator.kind().customName().startsWith("Flex")
        ? "it is an operator of TensorFlow itself; export the model without SELECT_TF_OPS"
        : "neither NNAPI 1.3 nor the extension io.thalamus has an operation for it";
  }

  private String text(FlatOperator operator) {
    String output =
        operator.outputs().length == 0
            ? ""
            : " (output '" + tensor(operator.outputs()[0]).name() + "')";
    return "operator " + operator.index() + " " + operator.kind().text() + output;
  }

  SubgraphBuilder builder() {
    return builder;
  }

  Constants constants() {
    return constants;
  }

  ModelConverter model() {
    return model;
  }

  Rows rows() {
    return rows;
  }

  FlatTensor tensor(int index) {
    return standIns.getOrDefault(index, graph.tensors().get(index));
  }

  /** Lets a constant stand for a tensor that has the same values. */
  void standIn(int index, FlatTensor constant) {
    checkUnwritten(tensor(index));
    standIns.put(index, constant);
  }

  /** The two parts of a tensor of complex numbers, where it has been computed. */
  Optional<Complex> complex(FlatTensor tensor) {
    return Optional.ofNullable(complexOfTensor.get(tensor.index()));
  }

  /** Keeps the two parts of a tensor of complex numbers. */
  void setComplex(FlatTensor tensor, Complex parts) {
    complexOfTensor.put(tensor.index(), parts);
  }

  /** Returns whether a tensor has an operand yet. */
  boolean isDefined(FlatTensor tensor) {
    return operandOfTensor.contains(tensor.index());
  }

  /** Returns whether a tensor is a result of the graph. */
  boolean isResult(FlatTensor tensor) {
    return graphOutputs.contains(tensor.index());
  }

  /** The operand that holds a tensor which an operator reads; a list has its rows alone. */
  int read(FlatTensor tensor) {
    int operand = unwritten(tensor);
    return tensor.is(TensorType.VARIANT) ? operand : written(operand);
  }

  /** An operand that operations can read; see {@link Rows}. */
  int written(int operand) {
    return rows.written(this, operand);
  }

  /** The operand that holds a tensor of which only the rows are asked for; see {@link Rows}. */
  int unwritten(FlatTensor tensor) {
    Integer known = operandOfTensor.get(tensor.index());
    if (known != null) {
      return known;
    }
    if (!tensor.isConstant()) {
      throw new Refusal(
          tensor.isVariable()
              ? tensor.text() + " keeps its value from call to call, which NNAPI does not have"
              : IntStream.of(tensor.shape()).anyMatch(size -> size == 0)
                  ? tensor.text() + " has no elements, and NNAPI has no such constant"
                  : "the file is damaged: " + tensor.text() + " is read before it is computed");
    }
    int operand = Wide16.isQuantized(tensor) ? readFloats(tensor) : constant(tensor);
    operandOfTensor.put(tensor.index(), operand);
    return operand;
  }

  private int constant(FlatTensor tensor) {
    if (tensor.is(TensorType.FLOAT64)) {
      return readFloats(tensor);
    }
    return builder.constant(
        tensor.name(),
        TensorTypes.code(tensor),
        TensorTypes.shape(tensor),
        Constants.isNarrowed(tensor) ? Quantization.NONE : TensorTypes.quantization(tensor),
        constants.value(tensor));
  }

  /** The operand that holds the real values of a constant as FLOAT32. */
  int readFloats(FlatTensor tensor) {
    if (tensor.is(TensorType.FLOAT32)) {
      return read(tensor);
    }
    // One may be read as two types.
    int key = tensor.index() << Byte.SIZE | tensor.type();
    Integer known = floatsOfTensor.get(key);
    if (known != null) {
      return known;
    }
    int operand =
        builder.constant(
            tensor.name(),
            OperandCode.TENSOR_FLOAT32,
            TensorTypes.shape(tensor),
            Quantization.NONE,
            constants.floats(tensor));
    floatsOfTensor.put(key, operand);
    return operand;
  }

  /** The operand that holds the real values of an operand which is quantized. */
  int real(Node node, int operand) {
    Integer known = realOfOperand.get(operand);
    if (known == null) {
      known = FloatFallback.dequantized(node, operand);
      realOfOperand.put(operand, known);
    }
    return known;
  }

  /** The operand that holds the integers, or truth values, of an operand as INT32. */
  int whole(Node node, int operand) {
    Integer known = realOfOperand.get(operand);
    if (known == null) {
      known = Bits.converted(node, operand, OperandCode.TENSOR_INT32);
      realOfOperand.put(operand, known);
    }
    return known;
  }

  /** The operand into which an operator writes a tensor. */
  int write(FlatTensor tensor) {
    return write(
        tensor,
        TensorTypes.code(tensor),
        TensorTypes.shape(tensor),
        TensorTypes.quantization(tensor));
  }

  /** The same, where the operand's properties are not those of the tensor. */
  int write(FlatTensor tensor, OperandCode type, Shape shape, Quantization quantization) {
    checkUnwritten(tensor);
    Lifetime lifetime =
        graphOutputs.contains(tensor.index()) && border(tensor).isEmpty() && !isStored16(tensor)
            ? Lifetime.SUBGRAPH_OUTPUT
            : Lifetime.TEMPORARY_VARIABLE;
    String name = entry.outputNames().getOrDefault(tensor.index(), tensor.name());
    int operand = builder.operand(new Operand(type, shape, quantization, lifetime, name));
    operandOfTensor.put(tensor.index(), operand);
    noteOpen(operand, tensor);
    return operand;
  }

  /** Notes for an operand that is computed for a tensor which of its dimensions may change. */
  void noteOpen(int operand, FlatTensor tensor) {
    if (tensor.signature().length == shape(operand).rank()
        && Arrays.stream(tensor.signature()).anyMatch(dimension -> dimension < 0)) {
      openShapes.put(operand, TensorTypes.openShape(tensor));
    }
  }

  /** Lets a tensor that an operator would write stand for an operand that exists. */
  void alias(FlatTensor tensor, int operand) {
    checkUnwritten(tensor);
    operandOfTensor.put(tensor.index(), operand);
  }

  private void checkUnwritten(FlatTensor tensor) {
    if (operandOfTensor.contains(tensor.index()) || tensor.isConstant()) {
      throw new Refusal(
          "the file is damaged: " + tensor.text() + " has a value before it is computed");
    }
  }

  /** The type in which a caller gives or gets a tensor, where the graph computes with another. */
  private Optional<OperandType> border(FlatTensor tensor) {
    return entry.isMain() ? TensorTypes.border(tensor) : Optional.empty();
  }

  /** Returns whether a caller gives or gets a tensor in 16 bits; graphs compute with reals. */
  private boolean isStored16(FlatTensor tensor) {
    return entry.isMain() && Wide16.isQuantized(tensor);
  }

  /** Adds an operation whose result has the shape that it computes, and returns the result. */
  int compute(OperationType operation, OperandCode type, List<Integer> inputs) {
    int result = builder.temporary("", type, shape(inputs.getFirst()), Quantization.NONE);
    emit(operation, inputs, List.of(result));
    return result;
  }

  /** An output of the graph that has the shape of an operand. */
  int output(OperandCode type, int like, float scale, String name) {
    return builder.operand(
        new Operand(type, shape(like), Quantization.of(scale, 0), Lifetime.SUBGRAPH_OUTPUT, name));
  }

  private int widened(int operand, OperandType type, String name) {
    int wide =
        builder.operand(
            new Operand(
                type, shape(operand), TensorTypes.plain(type), Lifetime.SUBGRAPH_OUTPUT, name));
    emit(ThalamusExtension.CAST, List.of(operand), List.of(wide));
    return wide;
  }

  /** Adds an operation; see {@link Node#emit}. */
  void emit(OperationType type, List<Integer> inputs, List<Integer> outputs) {
    builder.operation(type, inputs, outputs);
    OperationDefinition definition = converters.catalog().find(type).orElse(null);
    if (definition == null) {
      return; // the device that executes the model reports it
    }
    List<Shape> written = outputs.stream().map(this::shape).toList();
    try {
      OperationView view = OperationView.of(builder, type, inputs, outputs);
      if (!isComplete(view, definition)) {
        definition.validate(view);
        // Only an execution knows the shape; the file has one possibility.
        outputs.forEach(
            output -> builder.reshape(output, openShapes.getOrDefault(output, shape(output))));
        return;
      }
      // What the operations compute counts, and not what the file says: in files whose inputs can
      // have several sizes, converters leave dimensions that were never meant.
      outputs.forEach(output -> builder.reshape(output, Shape.NONE));
      view = OperationView.of(builder, type, inputs, outputs);
      definition.validate(view);
      List<Shape> computed = definition.infer(view);
      for (int i = 0; i < written.size(); i++) {
        boolean known = i < computed.size() && computed.get(i).isFullySpecified();
        builder.reshape(outputs.get(i), known ? computed.get(i) : written.get(i));
      }
      definition.validate(OperationView.of(builder, type, inputs, outputs));
    } catch (ValidationException e) {
      throw new Refusal("as " + type.text() + ": " + e.getMessage(), e);
    }
  }

  /** The dimensions of an operand. */
  Shape shape(int operand) {
    return builder.get(operand).shape();
  }

  /** Returns whether enough is known to compute the shapes of the outputs. */
  private static boolean isComplete(OperationView view, OperationDefinition definition) {
    for (int i = 0; i < view.inputs().size(); i++) {
      OperandView input = view.input(i);
      if (input.isOmitted()) {
        continue;
      }
      if (!input.isShapeKnown() || definition.needsValue(view, i) && input.value().isEmpty()) {
        return false;
      }
    }
    return true;
  }

  /** In NNAPI every output is written by an operation, once; what is not is copied. */
  private List<Integer> outputs() {
    List<Integer> outputs = new ArrayList<>();
    for (int index : entry.outputs()) {
      int operand = written(unwritten(tensor(index)));
      if (tensor(index).is(TensorType.STRING)) {
        TensorTypes.code(tensor(index)); // refuses it: the numbers of texts mean nothing to a user
      }
      String name = entry.outputNames().getOrDefault(index, tensor(index).name());
      Optional<OperandType> border = border(tensor(index));
      if (border.isPresent()) {
        outputs.add(widened(operand, border.get(), name));
        continue;
      }
      if (isStored16(tensor(index))) {
        outputs.add(Wide16.stored(this, tensor(index), operand, name));
        continue;
      }
      Operand found = builder.get(operand);
      boolean usable = found.lifetime().equals(Lifetime.SUBGRAPH_OUTPUT);
      outputs.add(usable && !outputs.contains(operand) ? operand : copy(operand, found.name()));
    }
    return outputs;
  }

  /**
   * Has what an operation computes be an output; what is one already, or not computed, is copied.
   */
  private int stateOutput(int operand, String name) {
    Operand found = builder.get(operand);
    if (!found.lifetime().equals(Lifetime.TEMPORARY_VARIABLE)) {
      return copy(operand, name);
    }
    builder.replace(
        operand,
        new Operand(
            found.type(), found.shape(), found.quantization(), Lifetime.SUBGRAPH_OUTPUT, name));
    return operand;
  }

  private int copy(int operand, String name) {
    Operand source = builder.get(operand);
    int target =
        builder.operand(
            new Operand(
                source.type(),
                source.shape(),
                source.quantization(),
                Lifetime.SUBGRAPH_OUTPUT,
                name));
    emit(OperationCode.CAST, List.of(operand), List.of(target));
    return target;
  }
}
