// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Recurrent.require;

import io.thalamus.model.Shape;
import io.thalamus.operations.Lstm.Cell;
import io.thalamus.operations.Lstm.Gate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The inputs of one cell of an {@link Lstm}, counted from the weights of its input gate. Immutable.
 *
 * @param first index of the weights from input to input gate
 * @param norms index of the normalization of the input gate, beyond the inputs where there is no
 *     normalization
 */
record LstmInputs(OperationView operation, int first, int norms) {
  private static final int WEIGHTS = 0;
  private static final int RECURRENT = 4;
  private static final int PEEPHOLES = 8;
  private static final int BIAS = 11;
  private static final int PROJECTION = 15;
  private static final int PROJECTION_BIAS = 16;
  private static final int CELL_GATE = 2;
  private static final int OUTPUT_GATE = 3;

  /** Checks the dimensions of an input, where it is there. */
  private void requireIfPresent(int index, int... dimensions) throws ValidationException {
    if (index >= 0) {
      require(operation, index, dimensions);
    }
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
    List<Gate> gates =
        new ArrayList<>(List.of(cell.forgetGate(), cell.cellGate(), cell.outputGate()));
    cell.inputGate().ifPresent(gates::add);
    checkCoupling(cell, gates);
    for (Gate gate : gates) {
      require(operation, gate.weights(), cells, cell.inputSize());
      require(operation, gate.recurrentWeights(), cells, outputs);
      require(operation, gate.bias(), cells);
      requireIfPresent(gate.auxiliaryWeights(), cells, cell.auxiliarySize());
      requireIfPresent(gate.peephole(), cells);
      requireIfPresent(gate.norm(), cells);
    }
    requireIfPresent(cell.projectionWeights(), outputs, cells);
    requireIfPresent(cell.projectionBias(), outputs);
    return cell;
  }

  /** Optional inputs come and go together. */
  private void checkCoupling(Cell cell, List<Gate> gates) throws ValidationException {
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
    for (Gate gate : gates) {
      if (gate.weights() < 0 || gate.recurrentWeights() < 0 || gate.bias() < 0) {
        throw new ValidationException("a gate needs weights for the input and the state, and bias");
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
          "%s cells give %s outputs only with the weights of a projection"
              .formatted(cell.cells(), cell.outputs()));
    }
  }

  /**
   * The arguments of one cell from the weights of its input gate on. The input gate, peepholes and
   * the projection may be left out.
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
