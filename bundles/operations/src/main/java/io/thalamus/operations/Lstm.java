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
import static io.thalamus.operations.ArgumentType.REAL;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.Recurrent.require;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Sequence.Route;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;

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

  /** The inputs of one cell, counted from the weights of its input gate. */
  static final class Inputs {
    private static final int WEIGHTS = 0;
    private static final int RECURRENT = 4;
    private static final int PEEPHOLES = 8;
    private static final int BIAS = 11;
    private static final int PROJECTION = 15;
    private static final int PROJECTION_BIAS = 16;
    private static final int CELL_GATE = 2;
    private static final int OUTPUT_GATE = 3;

    private final OperationView operation;
    private final int first;
    private final int norms;

    /**
     * Inputs of a cell.
     *
     * @param first index of the weights from input to input gate
     * @param norms index of the normalization of the input gate, beyond the inputs where there is
     *     no normalization
     */
    Inputs(OperationView operation, int first, int norms) {
      this.operation = operation;
      this.first = first;
      this.norms = norms;
    }

    private int present(int index) {
      return operation.has(index) ? index : -1;
    }

    /** A gate by its number: input, forget, cell, output. */
    private Gate gate(int gate, int auxiliaryWeights) {
      int peephole =
          gate == CELL_GATE ? -1 : present(first + PEEPHOLES + (gate == OUTPUT_GATE ? 2 : gate));
      return new Gate(
          present(first + WEIGHTS + gate),
          auxiliaryWeights < 0 ? -1 : present(auxiliaryWeights + gate),
          present(first + RECURRENT + gate),
          peephole,
          present(norms + gate),
          present(first + BIAS + gate));
    }

    private boolean isCoupled() {
      return !operation.has(first + WEIGHTS);
    }

    /** Checks the inputs and gives the cell. */
    Cell cell(int input, int auxiliary, int auxiliaryWeights, int outputState, int cellState)
        throws ValidationException {
      Shape data = operation.input(input).shape();
      int cells = operation.input(first + WEIGHTS + OUTPUT_GATE).shape().dimension(0);
      int outputs = operation.input(first + RECURRENT + OUTPUT_GATE).shape().dimension(1);
      boolean hasAuxiliary = auxiliaryWeights >= 0;
      Cell cell =
          new Cell(
              input,
              hasAuxiliary ? auxiliary : -1,
              isCoupled() ? Optional.empty() : Optional.of(gate(0, auxiliaryWeights)),
              gate(1, auxiliaryWeights),
              gate(CELL_GATE, auxiliaryWeights),
              gate(OUTPUT_GATE, auxiliaryWeights),
              present(first + PROJECTION),
              present(first + PROJECTION_BIAS),
              outputState,
              cellState,
              data.dimension(data.rank() - 1),
              hasAuxiliary ? operation.input(auxiliary).shape().dimension(2) : 0,
              cells,
              outputs);
      checkCoupling(cell);
      check(cell);
      return cell;
    }

    /** Optional inputs come and go together. */
    private void checkCoupling(Cell cell) throws ValidationException {
      Gate reference = cell.outputGate();
      Gate unused = gate(0, -1);
      if (isCoupled()
          && (unused.recurrentWeights() >= 0
              || unused.bias() >= 0
              || unused.norm() >= 0
              || unused.peephole() >= 0 && reference.peephole() < 0)) {
        throw new ValidationException(
            "the input gate has no weights for the input, but has other inputs");
      }
      List<Gate> gates = new ArrayList<>(List.of(cell.forgetGate(), cell.cellGate(), reference));
      cell.inputGate().ifPresent(gates::add);
      for (Gate gate : gates) {
        if (gate.weights() < 0 || gate.recurrentWeights() < 0 || gate.bias() < 0) {
          throw new ValidationException(
              "a gate needs weights for the input and the state, and bias");
        }
        if (gate.norm() >= 0 != reference.norm() >= 0) {
          throw new ValidationException("either all gates are normalized or none");
        }
        if (gate != cell.cellGate() && gate.peephole() >= 0 != reference.peephole() >= 0) {
          throw new ValidationException("either all gates have peepholes or none");
        }
        if (gate.auxiliaryWeights() >= 0 != cell.auxiliary() >= 0) {
          throw new ValidationException("auxiliary weights are missing for a gate");
        }
      }
      if (cell.projectionWeights() < 0
          && (cell.projectionBias() >= 0 || cell.outputs() != cell.cells())) {
        throw new ValidationException(
            cell.cells()
                + " cells give "
                + cell.outputs()
                + " outputs only with the weights of a projection");
      }
    }

    private void check(Cell cell) throws ValidationException {
      List<Gate> gates =
          new ArrayList<>(List.of(cell.forgetGate(), cell.cellGate(), cell.outputGate()));
      cell.inputGate().ifPresent(gates::add);
      for (Gate gate : gates) {
        require(operation, gate.weights(), cell.cells(), cell.inputSize());
        require(operation, gate.recurrentWeights(), cell.cells(), cell.outputs());
        require(operation, gate.bias(), cell.cells());
        if (gate.auxiliaryWeights() >= 0) {
          require(operation, gate.auxiliaryWeights(), cell.cells(), cell.auxiliarySize());
        }
        if (gate.peephole() >= 0) {
          require(operation, gate.peephole(), cell.cells());
        }
        if (gate.norm() >= 0) {
          require(operation, gate.norm(), cell.cells());
        }
      }
      if (cell.projectionWeights() >= 0) {
        require(operation, cell.projectionWeights(), cell.outputs(), cell.cells());
      }
      if (cell.projectionBias() >= 0) {
        require(operation, cell.projectionBias(), cell.outputs());
      }
    }

    /**
     * The arguments of one cell from the weights of its input gate on. The input gate, peepholes
     * and the projection may be left out.
     *
     * @param prefix of their names
     * @param peephole the type of the weights of the cell state
     */
    static List<Argument> arguments(
        String prefix, ArgumentType weights, ArgumentType peephole, ArgumentType bias) {
      List<Argument> arguments = new ArrayList<>();
      arguments.addAll(gates(prefix + "input to ", " weights", weights));
      arguments.addAll(gates(prefix + "recurrent to ", " weights", weights));
      for (String gate : List.of("input", "forget", "output")) {
        arguments.add(argument(prefix + "cell to " + gate + " weights", peephole).omittable());
      }
      arguments.addAll(gates(prefix, " gate bias", bias));
      arguments.add(argument(prefix + "projection weights", weights).omittable());
      arguments.add(argument(prefix + "projection bias", bias).omittable());
      return arguments;
    }

    /** An argument for each gate, of which that for the input gate may be left out. */
    private static List<Argument> gates(String before, String behind, ArgumentType type) {
      return Stream.of("input", "forget", "cell", "output")
          .map(gate -> argument(before + gate + behind, type))
          .map(made -> made.name().startsWith(before + "input") ? made.omittable() : made)
          .toList();
    }

    /** Arguments for each gate that may all be left out. */
    static List<Argument> optionalGates(String before, String behind, ArgumentType type) {
      return Stream.of("input", "forget", "cell", "output")
          .map(gate -> argument(before + gate + behind, type).omittable())
          .toList();
    }
  }

  /** The common part of the three operations: scalars, and the limits. */
  private abstract static class Definition extends NamedDefinition {
    Definition(OperationCode type, Signature signature) {
      super(type, signature);
    }

    /** The activation and the limits. */
    static List<Argument> scalars() {
      return List.of(
          argument("activation", INT32),
          argument("cell clip", REAL),
          argument("projection clip", REAL));
    }

    @Override
    public OptionalLong macs(OperationView operation) {
      return Macs.recurrent(operation);
    }

    abstract int activationIndex();

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
          CellActivation.ofCode(operation.input(activationIndex()).int32()),
          limit(operation, activationIndex() + 1),
          limit(operation, activationIndex() + 2),
          type() == OperationCode.LSTM,
          passes(operation));
    }
  }

  private static final class Single extends Definition {
    private static final int OUTPUT_STATE = 18;
    private static final int CELL_STATE = 19;
    private static final int ACTIVATION = 20;
    private static final int NORMS = 23;

    Single() {
      super(OperationCode.LSTM, inputs());
    }

    private static Signature inputs() {
      List<Argument> norms = Inputs.optionalGates("", " norm weights", T);
      List<Argument> inputs = new ArrayList<>();
      inputs.add(data("input", TypeLevels.floats(V1_0)).rank(2));
      inputs.addAll(Inputs.arguments("", T, T, T));
      inputs.add(argument("output state", T));
      inputs.add(argument("cell state", T));
      inputs.addAll(scalars());
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
    int activationIndex() {
      return ACTIVATION;
    }

    @Override
    Sequence sequence(OperationView operation) {
      return new Sequence(true, 1, operation.input(0).shape().dimension(0));
    }

    private static Cell cell(OperationView operation) throws ValidationException {
      return new Inputs(operation, 1, NORMS).cell(0, -1, -1, OUTPUT_STATE, CELL_STATE);
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

  private static final class Unidirectional extends Definition {
    private static final int OUTPUT_STATE = 18;
    private static final int CELL_STATE = 19;
    private static final int ACTIVATION = 20;
    private static final int TIME_MAJOR = 23;
    private static final int NORMS = 24;

    Unidirectional() {
      super(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs());
    }

    private static Signature inputs() {
      List<Argument> inputs = new ArrayList<>();
      inputs.add(data("input", TypeLevels.floats(V1_2)).rank(3));
      inputs.addAll(Inputs.arguments("", T, T, T));
      inputs.add(argument("output state", T));
      inputs.add(argument("cell state", T));
      inputs.addAll(scalars());
      inputs.add(argument("time major", BOOL));
      inputs.addAll(Inputs.optionalGates("", " norm weights", T));
      return Signature.since(V1_2)
          .inputs(inputs)
          .outputs(
              argument("output", T),
              argument("output state", T).from(V1_3),
              argument("cell state", T));
    }

    @Override
    int activationIndex() {
      return ACTIVATION;
    }

    @Override
    Sequence sequence(OperationView operation) {
      return Sequence.of(operation.input(0).shape(), operation.input(TIME_MAJOR).bool());
    }

    private static Cell cell(OperationView operation) throws ValidationException {
      return new Inputs(operation, 1, NORMS).cell(0, -1, -1, OUTPUT_STATE, CELL_STATE);
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
      super(OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM, inputs());
    }

    private static Signature inputs() {
      List<Argument> inputs = new ArrayList<>();
      inputs.add(data("input", TypeLevels.floats(V1_2)).rank(3));
      inputs.addAll(Inputs.arguments("forward ", T, T, T));
      inputs.addAll(Inputs.arguments("backward ", T, T, T));
      List<Argument> states =
          List.of(
              argument("forward output state", T),
              argument("forward cell state", T),
              argument("backward output state", T),
              argument("backward cell state", T));
      inputs.addAll(states);
      inputs.add(argument("auxiliary input", T).omittable());
      inputs.addAll(Inputs.optionalGates("forward auxiliary to ", " weights", T));
      inputs.addAll(Inputs.optionalGates("backward auxiliary to ", " weights", T));
      inputs.addAll(scalars());
      inputs.add(argument("merge outputs", BOOL));
      inputs.add(argument("time major", BOOL));
      inputs.addAll(Inputs.optionalGates("forward ", " norm weights", T));
      inputs.addAll(Inputs.optionalGates("backward ", " norm weights", T));
      return Recurrent.bothDirections(Signature.since(V1_2).inputs(inputs), states);
    }

    @Override
    int activationIndex() {
      return ACTIVATION;
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
          new Inputs(operation, FORWARD, FORWARD_NORMS)
              .cell(0, AUXILIARY, hasWeights ? FORWARD_AUXILIARY_WEIGHTS : -1, STATES, STATES + 1);
      Cell backward =
          new Inputs(operation, BACKWARD, BACKWARD_NORMS)
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
      return List.of(
          new Pass(
              cells.get(0),
              new Route(
                  false,
                  0,
                  merges ? forward + backward : forward,
                  0,
                  hasStates ? List.of(state, state + 1) : List.of())),
          new Pass(
              cells.get(1),
              new Route(
                  true,
                  merges ? 0 : 1,
                  merges ? forward + backward : backward,
                  merges ? forward : 0,
                  hasStates ? List.of(state + 2, state + 3) : List.of())));
    }
  }
}
