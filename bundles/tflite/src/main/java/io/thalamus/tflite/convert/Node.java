// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import static io.thalamus.model.LittleEndian.FLOAT;
import static io.thalamus.model.LittleEndian.INT;

import com.google.flatbuffers.ArrayReadWriteBuf;
import com.google.flatbuffers.FlexBuffers;
import com.google.flatbuffers.Table;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.tflite.convert.Rfft.Complex;
import io.thalamus.tflite.file.ByteRange;
import io.thalamus.tflite.file.FlatOperator;
import io.thalamus.tflite.file.FlatTensor;
import io.thalamus.tflite.file.Refusal;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.TensorType;

/**
 * One operator under conversion: what a converter may ask of it, and where it adds operations.
 * Inputs and outputs are numbered as in the operator; operands are indexes in the new graph.
 */
final class Node {
  private static final int MAX_OPTIONS = 1 << 16;

  /** Operations of two tensors that take the activation which they fuse as a third input. */
  private static final Set<OperationType> FUSING =
      Set.of(OperationCode.ADD, OperationCode.SUB, OperationCode.MUL, OperationCode.DIV);

  private final GraphConverter graph;
  private final FlatOperator operator;
  private final Reading reading;
  private final List<Computed> computed = new ArrayList<>();

  /** The operand that says that nothing is fused; -1 until one is needed. */
  private int noActivation = -1;

  /** The types in which an operator sees its inputs and outputs. */
  enum Reading {
    /** Those of the file. */
    STORED,
    /** What is quantized as FLOAT32. */
    REAL,
    /** Truth values, and integers of 8 bits that stand for themselves, as INT32. */
    WHOLE
  }

  /** An operator under conversion. */
  Node(GraphConverter graph, FlatOperator operator, Reading reading) {
    this.graph = graph;
    this.operator = operator;
    this.reading = reading;
  }

  /** A result as FLOAT32 or INT32, still to be written into the tensor as it is stored. */
  private record Computed(int operand, FlatTensor tensor) {}

  private boolean isReal(FlatTensor tensor) {
    return reading == Reading.REAL && FloatFallback.isQuantized(tensor)
        || Wide16.isQuantized(tensor);
  }

  private boolean isWhole(FlatTensor tensor) {
    return reading == Reading.WHOLE && Bits.isSmall(tensor);
  }

  // ---- the operator ----

  FlatOperator operator() {
    return operator;
  }

  ModelConverter model() {
    return graph.model();
  }

  GraphConverter graph() {
    return graph;
  }

  Constants constants() {
    return graph.constants();
  }

  /** Returns the exception for an operator that cannot be expressed. The graph adds its place. */
  Refusal refuse(String reason) {
    return new Refusal(reason);
  }

  /** Throws {@link #refuse} unless a condition holds. */
  void require(boolean condition, String reason) {
    if (!condition) {
      throw refuse(reason);
    }
  }

  <T extends Table> T options(T empty) {
    return operator.options(empty);
  }

  /** One value of the options. */
  <T> T get(Supplier<T> accessor) {
    return operator.checked().get(accessor);
  }

  /** A custom operator's settings. */
  byte[] customOptions() {
    ByteRange range = operator.customOptions();
    require(!range.isEmpty() && range.length() <= MAX_OPTIONS, "its settings are missing or huge");
    return constants().copy(range);
  }

  /** A custom operator's settings by name; read each by {@link #get}. */
  FlexBuffers.Map namedOptions() {
    byte[] bytes = customOptions();
    return get(() -> FlexBuffers.getRoot(new ArrayReadWriteBuf(bytes, bytes.length)).asMap());
  }

  // ---- inputs ----

  int inputCount() {
    return operator.inputs().length;
  }

  int outputCount() {
    return operator.outputs().length;
  }

  /** Returns whether an input is there, and not left out. */
  boolean has(int input) {
    return input < operator.inputs().length && operator.inputs()[input] >= 0;
  }

  FlatTensor input(int input) {
    require(has(input), "input " + input + " is missing");
    return graph.tensor(operator.inputs()[input]);
  }

  FlatTensor output(int output) {
    require(output < operator.outputs().length, "output " + output + " is missing");
    return graph.tensor(operator.outputs()[output]);
  }

  FlatTensor tensor(int index) {
    return graph.tensor(index);
  }

  /** The operand of an input. */
  int in(int input) {
    FlatTensor tensor = input(input);
    if (isWhole(tensor)) {
      return graph.whole(this, graph.read(tensor));
    }
    if (!isReal(tensor)) {
      return graph.read(tensor);
    }
    return tensor.isConstant() ? graph.readFloats(tensor) : graph.real(this, graph.read(tensor));
  }

  /** The operand of an input of which only the rows are asked for; see {@link Rows}. */
  int unwritten(int input) {
    return graph.unwritten(input(input));
  }

  /** The operands of an input and of all behind it. */
  List<Integer> insFrom(int first) {
    List<Integer> operands = new ArrayList<>();
    for (int i = first; i < inputCount(); i++) {
      operands.add(in(i));
    }
    return operands;
  }

  /** The operand of an input, which must be there, by its properties. */
  Operand inOperand(int input) {
    return operand(in(input));
  }

  /** An operand with the real values of a constant input. */
  int inFloats(int input) {
    return graph.readFloats(input(input));
  }

  /**
   * An operand with the real values of a layer's stored weights, whose data are floats. TensorFlow
   * Lite takes those of UINT8 for integers with a sign, as its first converters wrote them.
   */
  int inWeights(int input) {
    FlatTensor weights = input(input);
    return graph.readFloats(weights.is(TensorType.UINT8) ? weights.asSigned() : weights);
  }

  /**
   * Returns whether the values of an input are known now: it is a constant, or was computed of
   * some.
   */
  boolean isKnown(int input) {
    FlatTensor tensor = input(input);
    return tensor.isConstant()
        || tensor.shape().length == 1 && tensor.shape()[0] == 0 && !graph.isDefined(tensor)
        || graph.isDefined(tensor) && derived(graph.read(tensor)).isPresent();
  }

  /** The value of an operand that was derived while the model is read. */
  private Optional<ConstantCopy> derived(int operand) {
    return operand(operand).lifetime() instanceof ConstantCopy copy
        ? Optional.of(copy)
        : Optional.empty();
  }

  /** The integers of an input whose values are known now. */
  int[] ints(int input) {
    FlatTensor tensor = input(input);
    require(isKnown(input), tensor.text() + " is not constant, as NNAPI wants it");
    if (!graph.isDefined(tensor) || tensor.isConstant()) {
      return constants().ints(tensor);
    }
    int operand = graph.read(tensor);
    byte[] bytes = derived(operand).orElseThrow().value();
    if (operand(operand).type() == OperandCode.TENSOR_BOOL8) {
      return IntStream.range(0, bytes.length).map(i -> bytes[i]).toArray();
    }
    require(
        operand(operand).type() == OperandCode.TENSOR_INT32,
        tensor.text() + " is " + tensor.typeName() + ", not INT32");
    return MemorySegment.ofArray(bytes).toArray(INT);
  }

  /** The real numbers of an input whose values are known now. */
  float[] floats(int input) {
    FlatTensor tensor = input(input);
    if (tensor.isConstant()) {
      return constants().floatValues(tensor);
    }
    require(
        graph.isDefined(tensor)
            && derived(graph.read(tensor)).isPresent()
            && operand(graph.read(tensor)).type() == OperandCode.TENSOR_FLOAT32,
        tensor.text() + " is not constant");
    return MemorySegment.ofArray(derived(graph.read(tensor)).orElseThrow().value()).toArray(FLOAT);
  }

  /** The only integer of a constant input. */
  int onlyInt(int input) {
    int[] values = ints(input);
    require(values.length == 1, input(input).text() + " is not one number");
    return values[0];
  }

  /** The dimensions of an input; those that are unknown are 0. */
  Shape shapeOf(int input) {
    return inOperand(input).shape();
  }

  /**
   * Returns whether a tensor is a single value without dimensions. Older files state the same of a
   * tensor whose dimensions they do not know; one that is computed has those of its operand.
   */
  boolean isScalar(FlatTensor tensor) {
    return tensor.shape().length == 0
        && (!graph.isDefined(tensor) || operand(graph.read(tensor)).shape().equals(Shape.of(1)));
  }

  /** An axis as NNAPI counts it: from 0, and less than the rank. */
  int axis(int axis, int rank) {
    int counted = axis < 0 ? axis + rank : axis;
    require(counted >= 0 && counted < rank, "axis " + axis + " is not one of " + rank);
    return counted;
  }

  // ---- operands ----

  SubgraphBuilder builder() {
    return graph.builder();
  }

  Operand operand(int index) {
    return graph.builder().get(index);
  }

  /** The operand into which an output is written. */
  int out(int output) {
    FlatTensor tensor = output(output);
    if (isWhole(tensor)) {
      return later(OperandCode.TENSOR_INT32, TensorTypes.shape(tensor), tensor);
    }
    return isReal(tensor)
        ? later(OperandCode.TENSOR_FLOAT32, TensorTypes.shape(tensor), tensor)
        : graph.write(tensor);
  }

  private int later(OperandCode type, Shape shape, FlatTensor tensor) {
    int result = temporary(type, shape, Quantization.NONE);
    graph.noteOpen(result, tensor);
    computed.add(new Computed(result, tensor));
    return result;
  }

  /** Writes the outputs that were computed as FLOAT32 or INT32 as they are stored. */
  void storeOutputs() {
    for (Computed result : computed) {
      FlatTensor tensor = result.tensor();
      if (isWhole(tensor)) {
        Bits.store(this, result.operand(), graph.write(tensor));
        continue;
      }
      if (Wide16.isQuantized(tensor)) {
        graph.alias(
            tensor,
            Wide16.isOnGrid(this, tensor)
                ? result.operand()
                : Wide16.rounded(graph, tensor, result.operand()));
        continue;
      }
      emit(OperationCode.QUANTIZE, graph.write(tensor), result.operand());
    }
  }

  /** Returns whether an output is one of the graph's. */
  boolean isResult(int output) {
    return graph.isResult(output(output));
  }

  /** The operands into which all outputs are written. */
  List<Integer> outs() {
    List<Integer> operands = new ArrayList<>();
    for (int i = 0; i < outputCount(); i++) {
      operands.add(out(i));
    }
    return operands;
  }

  /** The same, where its properties are not those that the file gives. */
  int out(int output, OperandCode type, Shape shape, Quantization quantization) {
    FlatTensor tensor = output(output);
    if (isWhole(tensor)) {
      return later(OperandCode.TENSOR_INT32, shape, tensor);
    }
    return isReal(tensor) && type == OperandCode.TENSOR_FLOAT32
        ? later(type, shape, tensor)
        : graph.write(tensor, type, shape, quantization);
  }

  /** Returns whether an output is computed as real numbers and quantized afterwards. */
  boolean isRealOutput(int output) {
    return isReal(output(output));
  }

  /** Lets an output stand for an operand that exists. */
  void alias(int output, int operand) {
    OperandType type = operand(operand).type();
    if (isReal(output(output)) && type == OperandCode.TENSOR_FLOAT32
        || isWhole(output(output)) && type == OperandCode.TENSOR_INT32) {
      computed.add(new Computed(graph.written(operand), output(output)));
      return;
    }
    graph.alias(output(output), operand);
  }

  /** Lets a constant input stand for an output that has the same values. */
  void standIn(int output, int input) {
    output(output);
    graph.standIn(operator.outputs()[output], input(input));
  }

  /** The two parts of an input of complex numbers. */
  Complex complex(int input) {
    return graph
        .complex(input(input))
        .orElseThrow(() -> refuse("its input holds no spectrum that was computed here"));
  }

  /** Gives an output of complex numbers in two parts. */
  void setComplex(int output, Complex parts) {
    graph.setComplex(output(output), parts);
  }

  /** An intermediate value like another, but for its shape. */
  int temporary(Operand like, Shape shape) {
    return temporary(like.type(), shape, like.quantization());
  }

  int temporary(OperandType type, Shape shape, Quantization quantization) {
    return builder().temporary("", type, shape, quantization);
  }

  int int32(int value) {
    return builder().int32(value);
  }

  int bool(boolean value) {
    return builder().bool(value);
  }

  int int32Vector(int... values) {
    return builder().int32Vector(values);
  }

  int float32(float value) {
    return builder().float32(value);
  }

  /** A constant of integers in a shape. */
  int int32Tensor(Shape shape, int... values) {
    return builder().int32Tensor(shape, values);
  }

  /** A constant of floats in a shape; an error names the first output. */
  int float32Tensor(Shape shape, float... values) {
    return float32Tensor(shape, constants().of(values, output(0)));
  }

  /** The same where the bytes are there. */
  int float32Tensor(Shape shape, Lifetime.Constant value) {
    return constant(OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE, value);
  }

  /** A scalar of the floating-point type that goes with a tensor: FLOAT16 with float16. */
  int floatFor(Operand tensor, float value) {
    return tensor.type() == OperandCode.TENSOR_FLOAT16
        ? number(OperandCode.FLOAT16, Shape.NONE, value)
        : builder().float32(value);
  }

  /** A constant of one element in the precision of an operand. */
  int number(Operand like, float value) {
    return number(like.type(), Shape.of(1), value);
  }

  private int number(OperandType type, Shape shape, float value) {
    byte[] element = Constants.element(type, value);
    return constant(type, shape, Quantization.NONE, new ConstantCopy(element));
  }

  /** A constant like another operand, but for its shape. */
  int constant(Operand like, Shape shape, Lifetime.Constant value) {
    return constant(like.type(), shape, like.quantization(), value);
  }

  int constant(OperandType type, Shape shape, Quantization quantization, Lifetime.Constant value) {
    return builder().constant("", type, shape, quantization, value);
  }

  // ---- operations ----

  /** Adds an operation with one output. */
  void emit(OperationType operation, int output, Integer... inputs) {
    emit(operation, List.of(inputs), output);
  }

  /** Adds an operation with one output. */
  void emit(OperationType operation, List<Integer> inputs, int output) {
    emit(operation, inputs, List.of(output));
  }

  /** Adds an operation whose result is like an operand, and returns the result. */
  int compute(OperationType operation, int like, Integer... inputs) {
    return compute(operation, operand(like), operand(like).shape(), inputs);
  }

  /** Adds an operation whose result is like an operand, but for its shape; returns the result. */
  int compute(OperationType operation, Operand like, Shape shape, Integer... inputs) {
    int result = temporary(like, shape);
    emit(operation, result, inputs);
    return result;
  }

  /** Adds an operation whose result is not quantized, and returns the result. */
  int compute(OperationType operation, OperandType type, Shape shape, Integer... inputs) {
    int result = temporary(type, shape, Quantization.NONE);
    emit(operation, result, inputs);
    return result;
  }

  /** Adds a comparison of two tensors that has the shape of the first, and returns the result. */
  int compare(OperationCode comparison, int first, int second) {
    return compute(comparison, OperandCode.TENSOR_BOOL8, operand(first).shape(), first, second);
  }

  /**
   * Adds an operation; ADD, SUB, MUL and DIV of two inputs fuse no activation.
   *
   * @throws Refusal where NNAPI does not allow it with these operands, or it computes another shape
   *     than the file says
   */
  void emit(OperationType operation, List<Integer> inputs, List<Integer> outputs) {
    if (FUSING.contains(operation) && inputs.size() == 2) {
      noActivation = noActivation < 0 ? int32(0) : noActivation;
      emit(operation, List.of(inputs.get(0), inputs.get(1), noActivation), outputs);
    } else if (outputs.size() != 1
        || !RankReduction.emit(this, operation, inputs, outputs.getFirst())) {
      graph.emit(operation, inputs, outputs);
    }
  }

  /**
   * A fused activation as NNAPI numbers it, for the operations that have one. TensorFlow Lite's
   * kernels of these know bounds only, and pass over the activations that have none.
   */
  int fused(byte activation) {
    return switch (activation) {
      case ActivationFunctionType.NONE,
          ActivationFunctionType.TANH,
          ActivationFunctionType.SIGN_BIT ->
          0;
      case ActivationFunctionType.RELU -> 1;
      case ActivationFunctionType.RELU_N1_TO_1 -> 2;
      case ActivationFunctionType.RELU6 -> 3;
      default -> throw refuse("it has fused activation " + activation + ", which there is not");
    };
  }

  /**
   * Writes the first output through an activation that the operation cannot fuse.
   *
   * @param emission adds the operation, given the operand into which it writes
   */
  void emitActivated(byte activation, IntConsumer emission) {
    if (activation == ActivationFunctionType.NONE) {
      emission.accept(out(0));
      return;
    }
    OperationCode code =
        switch (activation) {
          case ActivationFunctionType.RELU -> OperationCode.RELU;
          case ActivationFunctionType.RELU_N1_TO_1 -> OperationCode.RELU1;
          case ActivationFunctionType.RELU6 -> OperationCode.RELU6;
          case ActivationFunctionType.TANH -> OperationCode.TANH;
          default -> throw refuse("it has fused activation " + activation + ", unknown to NNAPI");
        };
    int target = out(0);
    int between = temporary(operand(target), operand(target).shape());
    emission.accept(between);
    emit(code, target, between);
  }
}
