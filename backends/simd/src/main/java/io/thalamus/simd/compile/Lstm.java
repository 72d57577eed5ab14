// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.CellActivation;
import io.thalamus.operations.Lstm.Cell;
import io.thalamus.operations.Lstm.Gate;
import io.thalamus.operations.Lstm.Parameters;
import io.thalamus.operations.Lstm.Pass;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Sequence;
import io.thalamus.operations.Sequence.Route;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.Functions;
import io.thalamus.simd.kernel.Functions.Kind;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.PackedMatrix;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.kernel.Rows;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Stored;
import io.thalamus.simd.program.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Cells of floats with a long memory, single or over sequences, with constant weights. A sequence
 * is a tile, since each step waits for the one before.
 */
public final class Lstm {
  /** The input whose rows are steps; another one, for the backward cell, is left to others. */
  private static final int INPUT = 0;

  /** Steps whose inputs are multiplied together. */
  private static final int BLOCK = 48;

  /** The functions of cells that there are kernels for; {@link Kind#CLAMP} stands for none. */
  private static final Map<CellActivation, Kind> FUNCTIONS =
      Map.of(
          CellActivation.TANH, Kind.TANH,
          CellActivation.SIGMOID, Kind.LOGISTIC,
          CellActivation.NONE, Kind.CLAMP);

  private Lstm() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.LSTM,
          OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM,
          OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM
        }) {
      table.add(code, Lstm::isPossible, new Cells(), TENSOR_FLOAT32);
    }
    Svdf.register(table);
    StoredLstm.register(table);
  }

  private static boolean isPossible(OperationView operation) {
    return areShapesKnown(operation)
        && StaticGraph.parameters(operation, Parameters.class)
            .filter(them -> isPossible(operation, them))
            .isPresent();
  }

  /** Returns true if scalars and the shapes of all tensors that are there are known. */
  static boolean areShapesKnown(OperationView operation) {
    for (int i = 0; i < operation.inputs().size(); i++) {
      OperandView input = operation.input(i);
      if (operation.has(i)
          && !(input.type().isTensor() ? input.isShapeKnown() : input.value().isPresent())) {
        return false;
      }
    }
    return true;
  }

  private static boolean isPossible(OperationView operation, Parameters parameters) {
    return FUNCTIONS.containsKey(parameters.activation())
        && parameters.sequence().steps() * parameters.sequence().batches() > 0
        && parameters.passes().stream().allMatch(pass -> isPossible(operation, pass.cell()));
  }

  private static boolean isPossible(OperationView operation, Cell cell) {
    return cell.input() == INPUT
        && cell.auxiliary() < 0
        && operation.has(cell.outputState())
        && operation.has(cell.cellState())
        && isConstant(operation, cell.projectionWeights())
        && isConstant(operation, cell.projectionBias())
        && gates(cell).stream()
            .flatMap(
                gate ->
                    Stream.of(
                        gate.weights(),
                        gate.recurrentWeights(),
                        gate.peephole(),
                        gate.norm(),
                        gate.bias()))
            .allMatch(input -> isConstant(operation, input));
  }

  /** Returns true if an input is known, or not there. */
  private static boolean isConstant(OperationView operation, int input) {
    return input < 0 || operation.input(input).value().isPresent();
  }

  private static List<Gate> gates(Cell cell) {
    List<Gate> gates = new ArrayList<>(List.of(cell.forgetGate(), cell.cellGate()));
    gates.add(cell.outputGate());
    cell.inputGate().ifPresent(gates::add);
    return gates;
  }

  /** Reads the rows and the states. */
  private record Cells() implements Lowering {
    @Override
    public Step lower(Node node, Tensors tensors, Budget budget) {
      Parameters parameters = node.operation().parameters(Parameters.class);
      List<Direction> directions = new ArrayList<>();
      for (Pass pass : parameters.passes()) {
        directions.add(direction(node, tensors, pass));
      }
      Tensor unread = parameters.hasScratchOutput() ? tensors.output(node) : null;
      return new Sequences(parameters, directions, unread);
    }

    private static Direction direction(Node node, Tensors tensors, Pass pass) {
      Cell cell = pass.cell();
      Route route = pass.route();
      List<Product> inputs = new ArrayList<>();
      List<Product> states = new ArrayList<>();
      List<float[]> peepholes = new ArrayList<>();
      List<float[]> norms = new ArrayList<>();
      for (Gate gate : gates(cell)) {
        float[] bias = floats(node, gate.bias());
        float[] zeros = new float[cell.cells()];
        boolean isNormalized = gate.norm() >= 0;
        inputs.add(
            new Product(
                Products.packed(node, tensors, gate.weights()), isNormalized ? zeros : bias));
        PackedMatrix recurrent = Products.packed(node, tensors, gate.recurrentWeights());
        states.add(new Product(recurrent, zeros, 1));
        peepholes.add(gate.peephole() < 0 ? null : floats(node, gate.peephole()));
        norms.add(isNormalized ? factors(floats(node, gate.norm()), bias) : null);
      }
      return new Direction(
          cell,
          route,
          tensors.input(node, cell.input()),
          tensors.input(node, cell.outputState()),
          tensors.input(node, cell.cellState()),
          tensors.get(node.outputs().get(route.output())),
          route.stateOutputs().stream().map(i -> tensors.get(node.outputs().get(i))).toList(),
          inputs,
          states,
          peepholes,
          norms,
          cell.projectionWeights() < 0 ? null : projection(node, tensors, cell));
    }

    private static Product projection(Node node, Tensors tensors, Cell cell) {
      boolean hasBias = cell.projectionBias() >= 0;
      return new Product(
          Products.packed(node, tensors, cell.projectionWeights()),
          hasBias ? floats(node, cell.projectionBias()) : new float[cell.outputs()],
          1);
    }

    private static float[] floats(Node node, int input) {
      return Stored.floats(node.operation().view().input(input).value().orElseThrow());
    }

    /** Returns factors, and biases behind them. */
    private static float[] factors(float[] factors, float[] biases) {
      float[] all = Arrays.copyOf(factors, 2 * factors.length);
      System.arraycopy(biases, 0, all, factors.length, factors.length);
      return all;
    }

    @Override
    public boolean reads(ResolvedOperation operation, int input) {
      return operation.parameters(Parameters.class).passes().stream()
          .map(Pass::cell)
          .anyMatch(
              cell -> input == INPUT || input == cell.outputState() || input == cell.cellState());
    }
  }

  /**
   * A cell and what it reads and writes.
   *
   * @param results of all steps
   * @param last the states after the last step, where they are asked for
   * @param inputs by gate, the product of the inputs
   * @param states by gate, the product of the output of the step before
   * @param peepholes by gate, the weights of what it sees of the states; null for none
   * @param norms by gate, factors behind a normalization and biases behind them; null for none
   * @param projection of the cells' outputs; null for none
   */
  private record Direction(
      Cell cell,
      Route route,
      Tensor rows,
      Tensor outputState,
      Tensor cellState,
      Tensor results,
      List<Tensor> last,
      List<Product> inputs,
      List<Product> states,
      List<float[]> peepholes,
      List<float[]> norms,
      Product projection) {
    int cells() {
      return cell.cells();
    }

    int outputs() {
      return cell.outputs();
    }

    /** Returns the floats from one gate of a step, or one state, to the next. */
    int distance() {
      return Lanes.roundUp(Math.max(cells(), outputs()));
    }
  }

  /** Sequences, each of which is a tile, of one or two cells. */
  private static final class Sequences implements Step {
    private static final int FORGET = 0;
    private static final int CELL = 1;
    private static final int OUTPUT = 2;
    private static final int INPUT_GATE = 3;

    private final Sequence sequence;
    private final Kind function;
    private final float clip;
    private final List<Direction> directions;

    /** An output that is never read; null where there is none. */
    private final Tensor unread;

    private final float projectionClip;

    /** The longest of the directions' distances. */
    private final int distance;

    /** Where the states and the sums stand behind the left rows. */
    private final int leftFloats = BLOCK * Rows.DISTANCE;

    Sequences(Parameters parameters, List<Direction> directions, Tensor unread) {
      sequence = parameters.sequence();
      function = FUNCTIONS.get(parameters.activation());
      clip = parameters.cellClip();
      this.directions = directions;
      this.unread = unread;
      projectionClip = parameters.projectionClip();
      distance = directions.stream().mapToInt(Direction::distance).max().orElseThrow();
    }

    @Override
    public int tiles() {
      return directions.size() * sequence.batches();
    }

    /**
     * The left rows, the sums of a block of steps, the gates of a step, the two states, and outputs
     * before a projection.
     */
    @Override
    public int scratchFloats() {
      return leftFloats + (4 * BLOCK + 4 + 3) * distance + 8 * Lanes.SLACK;
    }

    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      if (unread != null && tile == 0) {
        float[] out = frame.floats(unread);
        Arrays.fill(out, unread.offset(), unread.offset() + unread.size(), 0);
      }
      Direction direction = directions.get(tile / sequence.batches());
      int batch = tile % sequence.batches();
      int outputs = direction.outputs();
      float[] some = scratch.floats;
      int output = Lanes.LEAD + leftFloats;
      int state = output + direction.distance();
      load(frame, direction.outputState(), batch, some, output, outputs);
      load(frame, direction.cellState(), batch, some, state, direction.cells());
      int steps = sequence.steps();
      for (int first = 0; first < steps; first += BLOCK) {
        int count = Math.min(BLOCK, steps - first);
        if (!multiplyInputs(frame, scratch, direction, batch, first, count)) {
          return;
        }
        for (int i = 0; i < count; i++) {
          if (frame.isOver(scratch)) {
            return;
          }
          step(frame, scratch, direction, i);
          int row = row(direction, batch, first + i);
          int to = row * direction.route().depth() + direction.route().offset();
          float[] out = frame.floats(direction.results());
          System.arraycopy(some, output, out, direction.results().offset() + to, outputs);
        }
      }
      for (int i = 0; i < direction.last().size(); i++) {
        Tensor last = direction.last().get(i);
        int from = i == 0 ? output : state;
        int size = i == 0 ? outputs : direction.cells();
        System.arraycopy(some, from, frame.floats(last), last.offset() + batch * size, size);
      }
    }

    private static void load(Frame frame, Tensor states, int batch, float[] to, int at, int size) {
      System.arraycopy(frame.floats(states), states.offset() + batch * size, to, at, size);
    }

    private int row(Direction direction, int batch, int step) {
      boolean isBackward = direction.route().isBackward();
      return sequence.row(isBackward ? sequence.steps() - 1 - step : step, batch);
    }

    /** Where the sums of a block begin. */
    private int sumsAt(Direction direction) {
      return Lanes.LEAD + leftFloats + 7 * direction.distance() + Lanes.SLACK;
    }

    private boolean multiplyInputs(
        Frame frame, Scratch scratch, Direction direction, int batch, int first, int count) {
      int size = direction.cell().inputSize();
      float[] in = frame.floats(direction.rows());
      Rows rows = scratch.rows;
      int gates = direction.inputs().size();
      int distance = direction.distance();
      int sums = sumsAt(direction);
      int from = 0;
      do {
        int end = Math.min(size, from + Rows.LONGEST);
        for (int i = 0; i < count; i++) {
          int at = direction.rows().offset() + row(direction, batch, first + i) * size + from;
          System.arraycopy(in, at, scratch.floats, Lanes.LEAD + i * Rows.DISTANCE, end - from);
        }
        for (int gate = 0; gate < gates; gate++) {
          begin(frame, rows, scratch, count);
          int to = sums + gate * distance;
          rows.result(scratch.floats, to, gates * distance);
          if (from > 0) {
            rows.added(scratch.floats, to, gates * distance);
          }
          Product product = direction.inputs().get(gate);
          int columns = product.columns();
          if (!Grid.multiply(frame, scratch, product, from, end, 0, columns, Clamp.NONE)) {
            return false;
          }
        }
        from = end;
      } while (from < size);
      return true;
    }

    private static void begin(Frame frame, Rows rows, Scratch scratch, int count) {
      rows.areScalar = frame.isScalar;
      rows.count = count;
      rows.left(scratch.floats, Lanes.LEAD);
      rows.addNothing();
    }

    private void step(Frame frame, Scratch scratch, Direction direction, int index) {
      float[] some = scratch.floats;
      int size = direction.cells();
      int distance = direction.distance();
      int output = Lanes.LEAD + leftFloats;
      int state = output + distance;
      int hidden = direction.projection() == null ? output : state + distance;
      int gatesAt = output + 3 * distance;
      int gates = direction.states().size();
      int sums = sumsAt(direction) + index * gates * distance;
      for (int gate = 0; gate < gates; gate++) {
        int to = gatesAt + gate * distance;
        Product product = direction.states().get(gate);
        multiply(frame, scratch, product, output, sums + gate * distance, to);
      }
      for (int gate = 0; gate < gates; gate++) {
        if (gate != OUTPUT) {
          finish(direction, gate, some, gatesAt + gate * distance, state, scratch.spareFloats);
        }
      }
      int forget = gatesAt + FORGET * distance;
      int admitted = gatesAt + CELL * distance;
      if (gates > INPUT_GATE) {
        update(some, state, forget, gatesAt + INPUT_GATE * distance, admitted, size);
      } else {
        updateCoupled(some, state, forget, admitted, size);
      }
      clip(some, state, size, clip);
      int shown = gatesAt + OUTPUT * distance;
      finish(direction, OUTPUT, some, shown, state, scratch.spareFloats);
      System.arraycopy(some, state, some, hidden, size);
      apply(function, some, hidden, size, scratch.spareFloats);
      multiply(some, hidden, shown, size);
      if (direction.projection() != null) {
        multiply(frame, scratch, direction.projection(), hidden, -1, output);
        clip(some, output, direction.outputs(), projectionClip);
      }
    }

    /**
     * Multiplies a row.
     *
     * @param added a row that is added; -1 for none
     */
    private static void multiply(
        Frame frame, Scratch scratch, Product product, int row, int added, int to) {
      float[] some = scratch.floats;
      int columns = product.columns();
      for (int from = 0; from < product.depth(); from += Rows.LONGEST) {
        int end = Math.min(product.depth(), from + Rows.LONGEST);
        System.arraycopy(some, row + from, some, Lanes.LEAD, end - from);
        begin(frame, scratch.rows, scratch, 1);
        if (from > 0 || added >= 0) {
          scratch.rows.added(some, from > 0 ? to : added, columns);
        }
        scratch.rows.result(some, to, columns);
        product.multiply(scratch.rows, from, end, 0, columns, Clamp.NONE);
      }
    }

    /** Makes sums a gate. */
    private void finish(
        Direction direction, int gate, float[] some, int at, int state, float[] spare) {
      int size = direction.cells();
      if (direction.peepholes().get(gate) != null) {
        see(direction.peepholes().get(gate), some, state, at, size);
      }
      if (direction.norms().get(gate) != null) {
        // Where the variance is 0, so are all distances from the mean.
        float[] factors = direction.norms().get(gate);
        Normalization.normalize(some, at, Double.MIN_NORMAL, factors, some, at, size);
      }
      apply(gate == CELL ? function : Kind.LOGISTIC, some, at, size, spare);
    }

    private static void see(float[] weights, float[] some, int state, int to, int count) {
      for (int i = 0; i < count; i++) {
        some[to + i] += weights[i] * some[state + i];
      }
    }

    private static void clip(float[] some, int at, int count, float limit) {
      for (int i = 0; limit > 0 && i < count; i++) {
        some[at + i] = Math.min(Math.max(some[at + i], -limit), limit);
      }
    }

    private static void apply(Kind kind, float[] values, int at, int count, float[] spare) {
      if (kind != Kind.CLAMP) {
        Functions.apply(kind, Clamp.NONE, values, at, values, at, count, spare);
      }
    }

    private static void update(
        float[] some, int state, int forget, int admit, int cell, int count) {
      for (int i = 0; i < count; i++) {
        some[state + i] = some[forget + i] * some[state + i] + some[admit + i] * some[cell + i];
      }
    }

    private static void updateCoupled(float[] some, int state, int forget, int cell, int count) {
      for (int i = 0; i < count; i++) {
        float kept = some[forget + i];
        some[state + i] = kept * some[state + i] + (1 - kept) * some[cell + i];
      }
    }

    private static void multiply(float[] some, int output, int gate, int count) {
      for (int i = 0; i < count; i++) {
        some[output + i] *= some[gate + i];
      }
    }
  }
}
