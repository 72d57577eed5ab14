// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.FLOAT32;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.Recurrent.require;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.Requantization.Rounding;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Members of the family {@link Recurrent} with a long memory in integers: QUANTIZED_16BIT_LSTM,
 * QUANTIZED_LSTM.
 */
public final class QuantizedLstm {
  /** Integer bits of arguments of gates. */
  public static final int GATE_BITS = 3;

  /** The input of QUANTIZED_LSTM that is the last output. */
  public static final int OUTPUT_STATE = 18;

  /** The input of QUANTIZED_LSTM that is the last state of the cells. */
  public static final int CELL_STATE = 19;

  /** The inputs of QUANTIZED_LSTM that change from step to step. */
  public static final Set<Integer> DATA = Set.of(0, OUTPUT_STATE, CELL_STATE);

  // Inputs of both.
  private static final int WEIGHTS = 1;
  private static final int RECURRENT_WEIGHTS = 5;

  // Inputs of QUANTIZED_16BIT_LSTM.
  private static final int BIAS_16 = 9;
  private static final int CELL_STATE_16 = 13;
  private static final int OUTPUT_STATE_16 = 14;

  // Inputs of QUANTIZED_LSTM, and the order of its gates.
  private static final int NORMS = 20;
  private static final int CELL_CLIP = 24;
  private static final int PROJECTION_CLIP = 25;
  private static final int GATE_SCALES = 26;
  private static final int HIDDEN_ZERO_POINT = 30;
  private static final int HIDDEN_SCALE = 31;
  private static final int FORGET_GATE = 1;
  private static final int CELL_GATE = 2;
  private static final int OUTPUT_GATE = 3;

  /** TensorFlow Lite scales the variance that stands for 0 by this. */
  private static final int LARGE = 10000;

  /** Arguments of gates have 12 fraction bits. */
  private static final int GATE_ONE = 4096;

  private static final List<String> GATES = List.of("input", "forget", "cell", "output");

  /** The scale and zero point of input and output of QUANTIZED_16BIT_LSTM. */
  private static final Quantization ACTIVATIONS = Quantization.of(1f / 128, 128);

  /** A state in [-16, 16). */
  private static final Quantization STATE = Quantization.of(1f / 2048, 0);

  private QuantizedLstm() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                OperationCode.QUANTIZED_16BIT_LSTM,
                sixteenBitSignature(),
                QuantizedLstm::sixteenBitShapes,
                QuantizedLstm::sixteenBitParameters)
            .checkedBy(QuantizedLstm::checkSixteenBit)
            .countedBy(Macs::recurrent),
        new FunctionDefinition(
                OperationCode.QUANTIZED_LSTM,
                eightBitSignature(),
                QuantizedLstm::eightBitShapes,
                QuantizedLstm::eightBitParameters)
            .countedBy(Macs::recurrent));
  }

  /**
   * The parameters of QUANTIZED_16BIT_LSTM. Input and output have zero point 128 and seven fraction
   * bits, the gates' arguments twelve, the state eleven.
   *
   * <p>NNAPI multiplies a row of recurrent weights followed by input weights with a vector of input
   * followed by output state: the first weights of the recurrent row meet the input. This is what
   * its reference computes and its golden vectors demand.
   *
   * @param weightZeroPoint of all weights
   * @param toGate from accumulators to arguments of gates
   */
  public record SixteenBitParameters(
      int batches, int inputSize, int units, int weightZeroPoint, Requantization toGate)
      implements OperationParameters {}

  /**
   * The parameters of QUANTIZED_LSTM.
   *
   * @param inputGate empty where the cell couples the input gate with the forget gate
   * @param stateBits integer bits of the cell state
   * @param toHidden from the product of two numbers without integer bits to the hidden state
   * @param hiddenZeroPoint of the hidden state; it is subtracted, as TensorFlow Lite does it
   * @param cellClip limit of the stored cell state, 0 for none
   * @param projection empty where the hidden state is the output
   */
  public record EightBitParameters(
      int batches,
      int inputSize,
      int units,
      int outputs,
      int inputZeroPoint,
      int outputStateZeroPoint,
      Optional<Gate> inputGate,
      Gate forgetGate,
      Gate cellGate,
      Gate outputGate,
      int stateBits,
      Requantization toHidden,
      int hiddenZeroPoint,
      int cellClip,
      Optional<Projection> projection)
      implements OperationParameters {
    /** Returns the gates that are there: forget, cell and output gate, and the input gate. */
    public List<Gate> gates() {
      List<Gate> gates = new ArrayList<>(List.of(forgetGate, cellGate, outputGate));
      inputGate.ifPresent(gates::add);
      return gates;
    }

    /** Returns whether there are four gates of sums, and nothing behind the hidden state. */
    public boolean isPlain() {
      return inputGate.isPresent()
          && projection.isEmpty()
          && gates().stream().allMatch(gate -> gate.peephole().isEmpty() && gate.norm().isEmpty());
    }
  }

  /**
   * A gate of QUANTIZED_LSTM; weights and bias are indexes of inputs.
   *
   * @param input from products of input and weights to the gate's argument
   * @param recurrent from products of output state and weights to the gate's argument
   * @param peephole empty where there is none
   * @param norm empty where there is none; then the bias adds to the products of the input
   */
  public record Gate(
      int weights,
      int recurrentWeights,
      int bias,
      Requantization input,
      Requantization recurrent,
      Optional<Peephole> peephole,
      Optional<Norm> norm) {}

  /** Weights of the cell state: the index of the input, and the factor of the products. */
  public record Peephole(int weights, Requantization scale) {}

  /**
   * A layer normalization: the index of the weights, the factor from the products to the gate's
   * argument, and what a variance of 0 is taken for.
   */
  public record Norm(int weights, Requantization scale, int leastVariance) {}

  /**
   * From the hidden state to the output.
   *
   * @param bias index of the input, -1 where there is none
   * @param range of the stored output
   */
  public record Projection(int weights, int bias, Requantization scale, IntRange range) {}

  private static Signature sixteenBitSignature() {
    List<Argument> inputs = new ArrayList<>();
    inputs.add(data("input", TypeLevels.since(V1_2, TENSOR_QUANT8_ASYMM)).rank(2));
    for (String from : List.of("input", "recurrent")) {
      for (String gate : GATES) {
        inputs.add(argument(from + " to " + gate + " weights", T).rank(2));
      }
    }
    for (String gate : GATES) {
      inputs.add(argument(gate + " gate bias", TENSOR_INT32).rank(1));
    }
    inputs.add(argument("cell state", TENSOR_QUANT16_SYMM).rank(2));
    inputs.add(argument("output state", T).rank(2));
    return Signature.since(V1_2)
        .inputs(inputs)
        .outputs(argument("cell state", TENSOR_QUANT16_SYMM), argument("output", T));
  }

  private static void checkSixteenBit(OperationView operation, Check check)
      throws ValidationException {
    for (OperandView activations :
        List.of(operation.input(0), operation.input(OUTPUT_STATE_16), operation.output(1))) {
      check.that(
          activations.quantization().equals(ACTIVATIONS),
          "input and output must have scale 1/128 and zero point 128");
    }
    for (OperandView state : List.of(operation.input(CELL_STATE_16), operation.output(0))) {
      check.that(
          state.quantization().equals(STATE),
          "the cell state must have scale 1/2048 and zero point 0");
    }
    OperandView weights = operation.input(WEIGHTS);
    for (int i = WEIGHTS; i < BIAS_16; i++) {
      check.sameQuantization(weights, operation.input(i));
    }
    for (int i = BIAS_16; i < CELL_STATE_16; i++) {
      check.that(
          operation.input(i).scale() == weights.scale() / 128,
          "the bias must have the scale of the weights by 128");
    }
  }

  private static List<Shape> sixteenBitShapes(OperationView operation) throws ValidationException {
    int batches = operation.input(0).shape().dimension(0);
    int size = operation.input(0).shape().dimension(1);
    int units = operation.input(OUTPUT_STATE_16).shape().dimension(1);
    for (int gate = 0; gate < 4; gate++) {
      require(operation, WEIGHTS + gate, units, size);
      require(operation, RECURRENT_WEIGHTS + gate, units, units);
      require(operation, BIAS_16 + gate, units);
    }
    require(operation, CELL_STATE_16, batches, units);
    require(operation, OUTPUT_STATE_16, batches, units);
    Shape output = Shape.of(batches, units);
    return List.of(output, output);
  }

  private static SixteenBitParameters sixteenBitParameters(OperationView operation) {
    return new SixteenBitParameters(
        operation.input(0).shape().dimension(0),
        operation.input(0).shape().dimension(1),
        operation.input(OUTPUT_STATE_16).shape().dimension(1),
        operation.input(WEIGHTS).zeroPoint(),
        Requantization.of(GATE_ONE * (double) operation.input(BIAS_16).scale(), Rounding.DOUBLE));
  }

  private static Signature eightBitSignature() {
    ArgumentType weights = ArgumentType.of(TENSOR_QUANT8_SYMM);
    ArgumentType factors = ArgumentType.of(TENSOR_QUANT16_SYMM);
    List<Argument> inputs = new ArrayList<>();
    inputs.add(data("input", TypeLevels.since(V1_3, TENSOR_QUANT8_ASYMM_SIGNED)).rank(2));
    inputs.addAll(LstmInputs.arguments("", weights, factors, ArgumentType.of(TENSOR_INT32)));
    inputs.add(argument("output state", T));
    inputs.add(argument("cell state", factors));
    inputs.addAll(LstmInputs.optionalGates("", " norm weights", factors));
    inputs.add(argument("cell clip", FLOAT32));
    inputs.add(argument("projection clip", FLOAT32));
    for (String gate : GATES) {
      inputs.add(argument(gate + " scale", FLOAT32));
    }
    inputs.add(argument("hidden zero point", INT32));
    inputs.add(argument("hidden scale", FLOAT32));
    return Signature.since(V1_3)
        .inputs(inputs)
        .outputs(
            argument("output state", T), argument("cell state", factors), argument("output", T));
  }

  /** The names of the inputs are those of the float operation, which checks them. */
  private static Lstm.Cell cell(OperationView operation) throws ValidationException {
    return new LstmInputs(operation, WEIGHTS, NORMS).cell(0, -1, -1, OUTPUT_STATE, CELL_STATE);
  }

  private static List<Shape> eightBitShapes(OperationView operation) throws ValidationException {
    int batches = operation.input(0).shape().dimension(0);
    Lstm.Cell cell = cell(operation);
    require(operation, OUTPUT_STATE, batches, cell.outputs());
    require(operation, CELL_STATE, batches, cell.cells());
    Shape output = Shape.of(batches, cell.outputs());
    return List.of(output, Shape.of(batches, cell.cells()), output);
  }

  private static EightBitParameters eightBitParameters(OperationView operation)
      throws ValidationException {
    Lstm.Cell cell = cell(operation);
    OperandView state = operation.input(OUTPUT_STATE);
    float cellScale = operation.input(CELL_STATE).scale();
    int stateBits = 15 + stateExponent(operation);
    float hiddenScale = positive(operation, HIDDEN_SCALE);
    float cellClip = operation.input(CELL_CLIP).float32();
    return new EightBitParameters(
        operation.input(0).shape().dimension(0),
        cell.inputSize(),
        cell.cells(),
        cell.outputs(),
        operation.input(0).zeroPoint(),
        state.zeroPoint(),
        cell.inputGate().isPresent()
            ? Optional.of(gate(operation, 0, cell.inputGate().get()))
            : Optional.empty(),
        gate(operation, FORGET_GATE, cell.forgetGate()),
        gate(operation, CELL_GATE, cell.cellGate()),
        gate(operation, OUTPUT_GATE, cell.outputGate()),
        stateBits,
        factor((float) (Math.scalb(1.0, -15) / hiddenScale * Math.scalb(1.0, -15))),
        operation.input(HIDDEN_ZERO_POINT).int32(),
        cellClip > 0 ? (int) Math.min(cellClip / cellScale, Short.MAX_VALUE) : 0,
        cell.projectionWeights() >= 0
            ? Optional.of(projection(operation, cell, hiddenScale))
            : Optional.empty());
  }

  /** The power of two that the scale of the cell state is, but for the last of its digits. */
  private static int stateExponent(OperationView operation) throws ValidationException {
    float scale = operation.input(CELL_STATE).scale();
    double exponent = Math.log(scale) / Math.log(2);
    int rounded = (int) Math.rint(exponent);
    if (Math.abs(exponent - rounded) >= 1e-3 || rounded < -15 || rounded > -9) {
      throw new ValidationException(
          "the scale of the cell state must be a power of two from 2^-15 to 2^-9, not " + scale);
    }
    return rounded;
  }

  private static float positive(OperationView operation, int index) throws ValidationException {
    float value = operation.input(index).float32();
    if (!(value > 0)) {
      throw new ValidationException("input " + index + " is a scale of " + value);
    }
    return value;
  }

  /** Effective scales are computed in float, as NNAPI does it. */
  private static Requantization factor(float scale) {
    return Requantization.of(scale, Rounding.DOUBLE);
  }

  private static Gate gate(OperationView operation, int gate, Lstm.Gate inputs)
      throws ValidationException {
    float scale = positive(operation, GATE_SCALES + gate);
    OperandView weights = operation.input(inputs.weights());
    OperandView recurrent = operation.input(inputs.recurrentWeights());
    Optional<Peephole> peephole = Optional.empty();
    if (inputs.peephole() >= 0) {
      float cellScale = Math.scalb(1f, stateExponent(operation));
      float peepholeScale = operation.input(inputs.peephole()).scale();
      peephole =
          Optional.of(new Peephole(inputs.peephole(), factor(cellScale * peepholeScale / scale)));
    }
    Optional<Norm> norm = Optional.empty();
    if (inputs.norm() >= 0) {
      float normScale = operation.input(inputs.norm()).scale();
      norm =
          Optional.of(
              new Norm(
                  inputs.norm(),
                  factor(normScale * GATE_ONE),
                  Math.min(1, (int) (LARGE * normScale))));
    }
    return new Gate(
        inputs.weights(),
        inputs.recurrentWeights(),
        inputs.bias(),
        factor(weights.scale() * operation.input(0).scale() / scale),
        factor(recurrent.scale() * operation.input(OUTPUT_STATE).scale() / scale),
        peephole,
        norm);
  }

  private static Projection projection(OperationView operation, Lstm.Cell cell, float hiddenScale) {
    OperandView weights = operation.input(cell.projectionWeights());
    OperandView state = operation.input(OUTPUT_STATE);
    IntRange range = IntRange.of(TENSOR_QUANT8_ASYMM_SIGNED);
    float limit = operation.input(PROJECTION_CLIP).float32();
    if (limit > 0) {
      int stored = (int) Math.min(limit / state.scale(), Byte.MAX_VALUE);
      range =
          new IntRange(
              range.clamp(state.zeroPoint() - stored), range.clamp(state.zeroPoint() + stored));
    }
    return new Projection(
        cell.projectionWeights(),
        cell.projectionBias(),
        factor(weights.scale() * hiddenScale / state.scale()),
        range);
  }
}
