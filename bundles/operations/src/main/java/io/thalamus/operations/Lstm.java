// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.REAL;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.Recurrent.require;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Sequence.Route;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Members of the family {@link Recurrent} with a long memory in float: LSTM,
 * UNIDIRECTIONAL_SEQUENCE_LSTM, BIDIRECTIONAL_SEQUENCE_LSTM.
 */
public final class Lstm {
  private Lstm() {}

  static List<OperationDefinition> definitions() {
    return List.of(new Single(), new Unidirectional(), new Bidirectional());
  }

  /**
   * The parameters of the three operations.
   *
   * @param sequence steps and batches; one step for LSTM
   * @param activation of the cell's input and output
   * @param cellClip limit of the cell state, 0 for none
   * @param projectionClip limit of the projected output, 0 for none
   * @param hasScratchOutput whether output 0 is a scratch buffer, which is never read
   * @param passes one cell, or one for each direction
   */
  public record Parameters(
      Sequence sequence,
      CellActivation activation,
      float cellClip,
      float projectionClip,
      boolean hasScratchOutput,
      List<Pass> passes)
      implements OperationParameters {
    public Parameters {
      passes = List.copyOf(passes);
    }
  }

  /** A cell and where its results go; state outputs are the output state and the cell state. */
  public record Pass(Cell cell, Route route) {}

  /**
   * A cell. All but the sizes are indexes of inputs, -1 where there is none.
   *
   * @param inputGate empty where the cell couples the input gate with the forget gate
   */
  public record Cell(
      int input,
      int auxiliary,
      Optional<Gate> inputGate,
      Gate forgetGate,
      Gate cellGate,
      Gate outputGate,
      int projectionWeights,
      int projectionBias,
      int outputState,
      int cellState,
      int inputSize,
      int auxiliarySize,
      int cells,
      int outputs) {}

  /**
   * The inputs that make up a gate, -1 where there is none.
   *
   * @param peephole weights of the cell state
   * @param norm weights of the layer normalization
   */
  public record Gate(
      int weights, int auxiliaryWeights, int recurrentWeights, int peephole, int norm, int bias) {}

  /** The common part of the three operations: scalars, and the limits. */
  private abstract static class Definition extends NamedDefinition {
    private final int activation;

    /**
     * @param activation index of the scalar, behind which the limits stand
     */
    Definition(OperationCode type, Signature signature, int activation) {
      super(type, signature);
      this.activation = activation;
    }

    /** The activation and the limits. */
    static List<Argument> scalars() {
      return List.of(
          argument("activation", INT32),
          argument("cell clip", REAL),
          argument("projection clip", REAL));
    }

    @Override
    public final OptionalLong macs(OperationView operation) {
      return Macs.recurrent(operation);
    }

    abstract Sequence sequence(OperationView operation);

    abstract List<Pass> passes(OperationView operation) throws ValidationException;

    static void checkStates(OperationView operation, Cell cell, int batches)
        throws ValidationException {
      require(operation, cell.outputState(), batches, cell.outputs());
      require(operation, cell.cellState(), batches, cell.cells());
    }

    float limit(OperationView operation, int index) throws ValidationException {
      float limit = operation.input(index).float32();
      if (!(limit >= 0)) {
        throw new ValidationException("input " + index + " limits to " + limit);
      }
      return limit;
    }

    @Override
    public final OperationParameters resolve(OperationView operation) throws ValidationException {
      return new Parameters(
          sequence(operation),
          CellActivation.ofCode(operation.input(activation).int32()),
          limit(operation, activation + 1),
          limit(operation, activation + 2),
          type() == OperationCode.LSTM,
          passes(operation));
    }
  }

  /** The common part of the two operations with one cell, whose inputs end differently. */
  private abstract static class OneCell extends Definition {
    private static final int OUTPUT_STATE = 18;
    private static final int CELL_STATE = 19;
    private static final int ACTIVATION = 20;

    private final int norms;

    OneCell(OperationCode type, Signature signature, int norms) {
      super(type, signature, ACTIVATION);
      this.norms = norms;
    }

    /** The inputs from the first to the limits. */
    static List<Argument> inputs(FeatureLevel since, int rank) {
      List<Argument> inputs = new ArrayList<>();
      inputs.add(data("input", TypeLevels.floats(since)).rank(rank));
      inputs.addAll(LstmInputs.arguments("", T, T, T));
      inputs.add(argument("output state", T));
      inputs.add(argument("cell state", T));
      inputs.addAll(scalars());
      return inputs;
    }

    final Cell cell(OperationView operation) throws ValidationException {
      return new LstmInputs(operation, 1, norms).cell(0, -1, -1, OUTPUT_STATE, CELL_STATE);
    }
  }

  private static final class Single extends OneCell {
    Single() {
      super(OperationCode.LSTM, inputs(), 23);
    }

    private static Signature inputs() {
      List<Argument> norms = LstmInputs.optionalGates("", " norm weights", T);
      List<Argument> inputs = inputs(V1_0, 2);
      inputs.add(norms.getFirst().from(V1_2));
      inputs.addAll(norms.subList(1, norms.size()));
      return Signature.since(V1_0)
          .inputs(inputs)
          .outputs(
              argument("scratch", T),
              argument("output state", T),
              argument("cell state", T),
              argument("output", T));
    }

    @Override
    Sequence sequence(OperationView operation) {
      return new Sequence(true, 1, operation.input(0).shape().dimension(0));
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      int batches = operation.input(0).shape().dimension(0);
      Cell cell = cell(operation);
      checkStates(operation, cell, batches);
      int gates = cell.inputGate().isPresent() ? 4 : 3;
      return List.of(
          Shape.of(batches, gates * cell.cells()),
          Shape.of(batches, cell.outputs()),
          Shape.of(batches, cell.cells()),
          Shape.of(batches, cell.outputs()));
    }

    @Override
    List<Pass> passes(OperationView operation) throws ValidationException {
      Cell cell = cell(operation);
      return List.of(new Pass(cell, new Route(false, 3, cell.outputs(), 0, List.of(1, 2))));
    }
  }

  private static final class Unidirectional extends OneCell {
    private static final int TIME_MAJOR = 23;

    Unidirectional() {
      super(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs(), 24);
    }

    private static Signature inputs() {
      List<Argument> inputs = inputs(V1_2, 3);
      inputs.add(argument("time major", BOOL));
      inputs.addAll(LstmInputs.optionalGates("", " norm weights", T));
      return Signature.since(V1_2)
          .inputs(inputs)
          .outputs(
              argument("output", T),
              argument("output state", T).from(V1_3),
              argument("cell state", T));
    }

    @Override
    Sequence sequence(OperationView operation) {
      return Sequence.of(operation.input(0).shape(), operation.input(TIME_MAJOR).bool());
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      Sequence sequence = sequence(operation);
      Cell cell = cell(operation);
      checkStates(operation, cell, sequence.batches());
      List<Shape> outputs =
          List.of(
              sequence.shape(cell.outputs()),
              Shape.of(sequence.batches(), cell.outputs()),
              Shape.of(sequence.batches(), cell.cells()));
      return outputs.subList(0, operation.outputs().size());
    }

    @Override
    List<Pass> passes(OperationView operation) throws ValidationException {
      Cell cell = cell(operation);
      List<Integer> states = operation.outputs().size() == 3 ? List.of(1, 2) : List.of();
      return List.of(new Pass(cell, new Route(false, 0, cell.outputs(), 0, states)));
    }
  }

  private static final class Bidirectional extends Definition {
    private static final int FORWARD = 1;
    private static final int BACKWARD = 18;
    private static final int STATES = 35;
    private static final int AUXILIARY = 39;
    private static final int FORWARD_AUXILIARY_WEIGHTS = 40;
    private static final int BACKWARD_AUXILIARY_WEIGHTS = 44;
    private static final int ACTIVATION = 48;
    private static final int MERGE = 51;
    private static final int TIME_MAJOR = 52;
    private static final int FORWARD_NORMS = 53;
    private static final int BACKWARD_NORMS = 57;

    Bidirectional() {
      super(OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM, inputs(), ACTIVATION);
    }

    private static Signature inputs() {
      List<Argument> inputs = new ArrayList<>();
      inputs.add(data("input", TypeLevels.floats(V1_2)).rank(3));
      inputs.addAll(LstmInputs.arguments("forward ", T, T, T));
      inputs.addAll(LstmInputs.arguments("backward ", T, T, T));
      List<Argument> states =
          List.of(
              argument("forward output state", T),
              argument("forward cell state", T),
              argument("backward output state", T),
              argument("backward cell state", T));
      inputs.addAll(states);
      inputs.add(argument("auxiliary input", T).omittable());
      inputs.addAll(LstmInputs.optionalGates("forward auxiliary to ", " weights", T));
      inputs.addAll(LstmInputs.optionalGates("backward auxiliary to ", " weights", T));
      inputs.addAll(scalars());
      inputs.add(argument("merge outputs", BOOL));
      inputs.add(argument("time major", BOOL));
      inputs.addAll(LstmInputs.optionalGates("forward ", " norm weights", T));
      inputs.addAll(LstmInputs.optionalGates("backward ", " norm weights", T));
      return Recurrent.bothDirections(Signature.since(V1_2).inputs(inputs), states);
    }

    @Override
    Sequence sequence(OperationView operation) {
      return Sequence.of(operation.input(0).shape(), operation.input(TIME_MAJOR).bool());
    }

    private List<Cell> cells(OperationView operation) throws ValidationException {
      Sequence sequence = sequence(operation);
      boolean hasAuxiliary = operation.has(AUXILIARY);
      boolean hasWeights = false;
      for (int i = FORWARD_AUXILIARY_WEIGHTS; i < ACTIVATION; i++) {
        hasWeights |= operation.has(i);
      }
      if (hasWeights && !hasAuxiliary) {
        throw new ValidationException("there are auxiliary weights without an auxiliary input");
      }
      if (hasAuxiliary) {
        Shape auxiliary = operation.input(AUXILIARY).shape();
        int depth = auxiliary.rank() == 3 ? auxiliary.dimension(2) : 0;
        require(operation, AUXILIARY, sequence.shape(depth).toArray());
      }
      // Without weights of its own the auxiliary input is what the backward cell reads.
      int backwardInput = hasAuxiliary && !hasWeights ? AUXILIARY : 0;
      Cell forward =
          new LstmInputs(operation, FORWARD, FORWARD_NORMS)
              .cell(0, AUXILIARY, hasWeights ? FORWARD_AUXILIARY_WEIGHTS : -1, STATES, STATES + 1);
      Cell backward =
          new LstmInputs(operation, BACKWARD, BACKWARD_NORMS)
              .cell(
                  backwardInput,
                  AUXILIARY,
                  hasWeights ? BACKWARD_AUXILIARY_WEIGHTS : -1,
                  STATES + 2,
                  STATES + 3);
      checkStates(operation, forward, sequence.batches());
      checkStates(operation, backward, sequence.batches());
      return List.of(forward, backward);
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      boolean merges = operation.input(MERGE).bool();
      int count = operation.outputs().size();
      if (merges != (count == 1 || count == 5)) {
        throw new ValidationException(
            "there are " + count + " outputs, and merging them is " + merges);
      }
      Sequence sequence = sequence(operation);
      List<Cell> cells = cells(operation);
      int forward = cells.get(0).outputs();
      int backward = cells.get(1).outputs();
      List<Shape> outputs = new ArrayList<>();
      outputs.add(sequence.shape(merges ? forward + backward : forward));
      if (!merges) {
        outputs.add(sequence.shape(backward));
      }
      if (count > 2) {
        for (Cell cell : cells) {
          outputs.add(Shape.of(sequence.batches(), cell.outputs()));
          outputs.add(Shape.of(sequence.batches(), cell.cells()));
        }
      }
      return outputs;
    }

    @Override
    List<Pass> passes(OperationView operation) throws ValidationException {
      boolean merges = operation.input(MERGE).bool();
      boolean hasStates = operation.outputs().size() > 2;
      int state = merges ? 1 : 2;
      List<Cell> cells = cells(operation);
      int forward = cells.get(0).outputs();
      int backward = cells.get(1).outputs();
      List<Integer> own = hasStates ? List.of(state, state + 1) : List.of();
      List<Integer> other = hasStates ? List.of(state + 2, state + 3) : List.of();
      Route first = new Route(false, 0, merges ? forward + backward : forward, 0, own);
      Route second =
          merges
              ? new Route(true, 0, forward + backward, forward, other)
              : new Route(true, 1, backward, 0, other);
      return List.of(new Pass(cells.get(0), first), new Pass(cells.get(1), second));
    }
  }
}
