// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.BIAS;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Sequence.Route;
import java.util.ArrayList;
import java.util.List;

/**
 * Cells with a state of one kind: RNN, UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN,
 * SVDF. The cells with a long memory are in {@link Lstm} and {@link QuantizedLstm}.
 */
public final class Recurrent {
  // Inputs of BIDIRECTIONAL_SEQUENCE_RNN.
  private static final int FORWARD = 1;
  private static final int BACKWARD = 5;
  private static final int AUXILIARY = 9;
  private static final int FORWARD_AUXILIARY_WEIGHTS = 10;
  private static final int BACKWARD_AUXILIARY_WEIGHTS = 11;
  private static final int ACTIVATION = 12;
  private static final int TIME_MAJOR = 13;
  private static final int MERGE = 14;

  // Inputs of SVDF.
  private static final int FEATURE_WEIGHTS = 1;
  private static final int TIME_WEIGHTS = 2;
  private static final int BIAS = 3;
  private static final int STATE = 4;
  private static final int RANK = 5;
  private static final int SVDF_ACTIVATION = 6;

  private Recurrent() {}

  /** The arguments of one cell of an RNN: weights, recurrent weights, bias, state. */
  private static List<Argument> cell(String prefix) {
    return List.of(
        argument(prefix + "weights", T).rank(2),
        argument(prefix + "recurrent weights", T).rank(2),
        argument(prefix + "bias", T).rank(1),
        argument(prefix + "state", T).rank(2));
  }

  private static List<Argument> inputs(Argument data, Argument... others) {
    List<Argument> inputs = new ArrayList<>(List.of(data));
    inputs.addAll(cell(""));
    inputs.addAll(List.of(others));
    return inputs;
  }

  /** The signature with the outputs of two directions, merged or not, and states since HAL 1.3. */
  static Signature bothDirections(Signature signature, List<Argument> states) {
    List<Argument> merged = new ArrayList<>(List.of(argument("output", T)));
    merged.add(states.getFirst().from(V1_3));
    merged.addAll(states.subList(1, states.size()));
    List<Argument> separate = new ArrayList<>(merged);
    separate.set(0, argument("forward output", T));
    separate.add(1, argument("backward output", T));
    return signature
        .outputs(merged.toArray(Argument[]::new))
        .outputs(separate.toArray(Argument[]::new));
  }

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                OperationCode.RNN,
                Signature.since(V1_0)
                    .inputs(
                        inputs(
                            data("input", TypeLevels.floats(V1_0)).rank(2),
                            argument("activation", INT32)))
                    .outputs(argument("state", T), argument("output", T)),
                Recurrent::rnnShapes,
                Recurrent::rnnParameters)
            .countedBy(Macs::recurrent),
        new FunctionDefinition(
                OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN,
                Signature.since(V1_2)
                    .inputs(
                        inputs(
                            data("input", TypeLevels.floats(V1_2)).rank(3),
                            argument("activation", INT32),
                            argument("time major", INT32)))
                    .outputs(argument("output", T), argument("state", T).from(V1_3)),
                Recurrent::sequenceRnnShapes,
                Recurrent::sequenceRnn)
            .countedBy(Macs::recurrent),
        new FunctionDefinition(
                OperationCode.BIDIRECTIONAL_SEQUENCE_RNN,
                bidirectional(),
                Recurrent::bothShapes,
                Recurrent::bothParameters)
            .countedBy(Macs::recurrent),
        new FunctionDefinition(
                OperationCode.SVDF,
                Signature.since(V1_0)
                    .inputs(
                        data("input", TypeLevels.floats(V1_0)).rank(2),
                        argument("feature weights", T).rank(2),
                        argument("time weights", T).rank(2),
                        argument("bias", T).omittable(),
                        argument("state", T).rank(2),
                        argument("rank", INT32),
                        argument("activation", INT32))
                    .outputs(argument("state", T), argument("output", T)),
                Recurrent::svdfShapes,
                Recurrent::svdfParameters)
            .countedBy(Macs::recurrent));
  }

  /**
   * The parameters of the three RNN operations.
   *
   * @param sequence steps and batches; one step for RNN
   * @param activation of each cell
   * @param passes one cell, or one for each direction
   */
  public record RnnParameters(Sequence sequence, CellActivation activation, List<RnnPass> passes)
      implements OperationParameters {
    public RnnParameters {
      passes = List.copyOf(passes);
    }
  }

  /** A cell and where its results go. */
  public record RnnPass(RnnCell cell, Route route) {}

  /**
   * {@code state = activation(input * weights + auxiliary * auxiliaryWeights + state *
   * recurrentWeights + bias)}; all but the sizes are indexes of inputs.
   *
   * @param auxiliary -1 where there is none
   * @param auxiliaryWeights -1 where there are none
   */
  public record RnnCell(
      int input,
      int weights,
      int auxiliary,
      int auxiliaryWeights,
      int recurrentWeights,
      int bias,
      int state,
      int inputSize,
      int auxiliarySize,
      int units) {}

  /**
   * The parameters of SVDF.
   *
   * @param hasBias whether input 3 is there
   */
  public record SvdfParameters(
      int batches,
      int inputSize,
      int filters,
      int memory,
      int rank,
      boolean hasBias,
      CellActivation activation)
      implements OperationParameters {
    /** The length of an output. */
    public int units() {
      return filters / rank;
    }
  }

  /** Checks that an input has these dimensions. */
  static void require(OperationView operation, int input, int... dimensions)
      throws ValidationException {
    Shape wanted = Shape.of(dimensions);
    if (!operation.input(input).shape().equals(wanted)) {
      throw new ValidationException(
          "input %s is %s, but beside the others must be %s"
              .formatted(input, operation.input(input).shape(), wanted));
    }
  }

  /** Checks the inputs of a cell that stands at these indexes, and gives it with its sizes. */
  private static RnnCell cell(
      OperationView operation, int first, int input, int auxiliary, int auxiliaryWeights)
      throws ValidationException {
    Shape data = operation.input(input).shape();
    int inputSize = data.dimension(data.rank() - 1);
    int units = operation.input(first).shape().dimension(0);
    require(operation, first, units, inputSize);
    require(operation, first + 1, units, units);
    require(operation, first + 2, units);
    int auxiliarySize = 0;
    if (auxiliaryWeights >= 0) {
      auxiliarySize = operation.input(auxiliary).shape().dimension(2);
      require(operation, auxiliaryWeights, units, auxiliarySize);
    }
    return new RnnCell(
        input,
        first,
        auxiliaryWeights >= 0 ? auxiliary : -1,
        auxiliaryWeights,
        first + 1,
        first + 2,
        first + 3,
        inputSize,
        auxiliarySize,
        units);
  }

  private static List<Shape> rnnShapes(OperationView operation) throws ValidationException {
    int batches = operation.input(0).shape().dimension(0);
    RnnCell cell = cell(operation, 1, 0, -1, -1);
    require(operation, 4, batches, cell.units());
    Shape output = Shape.of(batches, cell.units());
    return List.of(output, output);
  }

  private static RnnParameters rnnParameters(OperationView operation) throws ValidationException {
    RnnCell cell = cell(operation, 1, 0, -1, -1);
    return new RnnParameters(
        new Sequence(true, 1, operation.input(0).shape().dimension(0)),
        CellActivation.ofCode(operation.input(5).int32()),
        List.of(new RnnPass(cell, new Route(false, 1, cell.units(), 0, List.of(0)))));
  }

  private static Sequence sequence(OperationView operation) throws ValidationException {
    int timeMajor = operation.input(6).int32();
    if (timeMajor != 0 && timeMajor != 1) {
      throw new ValidationException("time major must be 0 or 1, not " + timeMajor);
    }
    return Sequence.of(operation.input(0).shape(), timeMajor == 1);
  }

  private static List<Shape> sequenceRnnShapes(OperationView operation) throws ValidationException {
    Sequence sequence = sequence(operation);
    RnnCell cell = cell(operation, 1, 0, -1, -1);
    require(operation, 4, sequence.batches(), cell.units());
    List<Shape> outputs =
        List.of(sequence.shape(cell.units()), Shape.of(sequence.batches(), cell.units()));
    return outputs.subList(0, operation.outputs().size());
  }

  private static RnnParameters sequenceRnn(OperationView operation) throws ValidationException {
    RnnCell cell = cell(operation, 1, 0, -1, -1);
    List<Integer> states = operation.outputs().size() == 2 ? List.of(1) : List.of();
    return new RnnParameters(
        sequence(operation),
        CellActivation.ofCode(operation.input(5).int32()),
        List.of(new RnnPass(cell, new Route(false, 0, cell.units(), 0, states))));
  }

  private static Signature bidirectional() {
    List<Argument> inputs = new ArrayList<>();
    inputs.add(data("input", TypeLevels.floats(V1_2)).rank(3));
    inputs.addAll(cell("forward "));
    inputs.addAll(cell("backward "));
    inputs.add(argument("auxiliary input", T).omittable());
    inputs.add(argument("forward auxiliary weights", T).omittable());
    inputs.add(argument("backward auxiliary weights", T).omittable());
    inputs.add(argument("activation", INT32));
    inputs.add(argument("time major", BOOL));
    inputs.add(argument("merge outputs", BOOL));
    List<Argument> states = List.of(argument("forward state", T), argument("backward state", T));
    return bothDirections(Signature.since(V1_2).inputs(inputs), states);
  }

  private static Sequence bothSequence(OperationView operation) {
    return Sequence.of(operation.input(0).shape(), operation.input(TIME_MAJOR).bool());
  }

  /** The cells of both directions, checked against each other and the sequence. */
  private static List<RnnCell> cells(OperationView operation) throws ValidationException {
    Sequence sequence = bothSequence(operation);
    boolean hasAuxiliary = operation.has(AUXILIARY);
    boolean hasWeights = operation.has(FORWARD_AUXILIARY_WEIGHTS);
    if (hasWeights != operation.has(BACKWARD_AUXILIARY_WEIGHTS) || (hasWeights && !hasAuxiliary)) {
      throw new ValidationException(
          "auxiliary weights come for both directions, and with an auxiliary input");
    }
    if (hasAuxiliary) {
      Shape auxiliary = operation.input(AUXILIARY).shape();
      int depth = auxiliary.rank() == 3 ? auxiliary.dimension(2) : 0;
      Shape wanted = sequence.shape(depth);
      require(operation, AUXILIARY, wanted.toArray());
    }
    // Without weights of its own the auxiliary input is what the backward cell reads.
    int backwardInput = hasAuxiliary && !hasWeights ? AUXILIARY : 0;
    RnnCell forward =
        cell(operation, FORWARD, 0, AUXILIARY, hasWeights ? FORWARD_AUXILIARY_WEIGHTS : -1);
    RnnCell backward =
        cell(
            operation,
            BACKWARD,
            backwardInput,
            AUXILIARY,
            hasWeights ? BACKWARD_AUXILIARY_WEIGHTS : -1);
    require(operation, forward.state(), sequence.batches(), forward.units());
    require(operation, backward.state(), sequence.batches(), backward.units());
    return List.of(forward, backward);
  }

  private static List<Shape> bothShapes(OperationView operation) throws ValidationException {
    boolean merges = operation.input(MERGE).bool();
    int count = operation.outputs().size();
    if (merges != (count == 1 || count == 3)) {
      throw new ValidationException(
          "there are " + count + " outputs, and merging them is " + merges);
    }
    Sequence sequence = bothSequence(operation);
    List<RnnCell> cells = cells(operation);
    int forward = cells.get(0).units();
    int backward = cells.get(1).units();
    List<Shape> outputs = new ArrayList<>();
    outputs.add(sequence.shape(merges ? forward + backward : forward));
    if (!merges) {
      outputs.add(sequence.shape(backward));
    }
    if (count > 2) {
      outputs.add(Shape.of(sequence.batches(), forward));
      outputs.add(Shape.of(sequence.batches(), backward));
    }
    return outputs;
  }

  private static RnnParameters bothParameters(OperationView operation) throws ValidationException {
    boolean merges = operation.input(MERGE).bool();
    boolean hasStates = operation.outputs().size() > 2;
    int state = merges ? 1 : 2;
    List<RnnCell> cells = cells(operation);
    int forward = cells.get(0).units();
    int backward = cells.get(1).units();
    Route forwardRoute =
        new Route(
            false,
            0,
            merges ? forward + backward : forward,
            0,
            hasStates ? List.of(state) : List.of());
    Route backwardRoute =
        new Route(
            true,
            merges ? 0 : 1,
            merges ? forward + backward : backward,
            merges ? forward : 0,
            hasStates ? List.of(state + 1) : List.of());
    return new RnnParameters(
        bothSequence(operation),
        CellActivation.ofCode(operation.input(ACTIVATION).int32()),
        List.of(new RnnPass(cells.get(0), forwardRoute), new RnnPass(cells.get(1), backwardRoute)));
  }

  private static SvdfParameters svdfParameters(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    Shape weights = operation.input(TIME_WEIGHTS).shape();
    int filters = operation.input(FEATURE_WEIGHTS).shape().dimension(0);
    int rank = operation.input(RANK).int32();
    if (rank <= 0 || filters % rank != 0) {
      throw new ValidationException(filters + " filters cannot be of rank " + rank);
    }
    SvdfParameters parameters =
        new SvdfParameters(
            input.dimension(0),
            input.dimension(1),
            filters,
            weights.dimension(1),
            rank,
            operation.has(BIAS),
            CellActivation.ofCode(operation.input(SVDF_ACTIVATION).int32()));
    require(operation, FEATURE_WEIGHTS, filters, parameters.inputSize());
    require(operation, TIME_WEIGHTS, filters, parameters.memory());
    require(operation, STATE, parameters.batches(), parameters.memory() * filters);
    if (parameters.hasBias()) {
      require(operation, BIAS, parameters.units());
    }
    return parameters;
  }

  private static List<Shape> svdfShapes(OperationView operation) throws ValidationException {
    SvdfParameters parameters = svdfParameters(operation);
    return List.of(
        operation.input(STATE).shape(), Shape.of(parameters.batches(), parameters.units()));
  }
}
