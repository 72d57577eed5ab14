// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.operations.QuantizedLstm.CELL_STATE;
import static io.thalamus.operations.QuantizedLstm.DATA;
import static io.thalamus.operations.QuantizedLstm.GATE_BITS;
import static io.thalamus.operations.QuantizedLstm.OUTPUT_STATE;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.FixedPoint;
import io.thalamus.operations.FixedPoint16;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.QuantizedLstm.EightBitParameters;
import io.thalamus.operations.QuantizedLstm.Gate;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Stored;
import io.thalamus.simd.program.Tensor;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToIntFunction;

/**
 * A step of an 8-bit LSTM: QUANTIZED_LSTM with constant weights, without peepholes, normalization
 * and projection. Sums are ints, in loops that the JVM makes vectors of; the functions of gates are
 * looked up, by 16 bits. A batch is a tile.
 */
final class StoredLstm {
  private static final int FORGET = 0;
  private static final int CELL = 1;
  private static final int OUTPUT = 2;
  private static final int INPUT = 3;
  private static final int GATES = 4;

  /** Products between two looks at whether the execution ends: some microseconds. */
  private static final int LOOK = 1 << 16;

  /** Of what has no integer bits. */
  private static final int FRACTION_BITS = 15;

  private StoredLstm() {}

  /** Adds the operation to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        OperationCode.QUANTIZED_LSTM,
        StoredLstm::isPossible,
        new Stepped(),
        OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);
  }

  private static boolean isPossible(OperationView operation) {
    return Lstm.areShapesKnown(operation)
        && operation.hasValuesExcept(DATA)
        && StaticGraph.parameters(operation, EightBitParameters.class)
            .filter(EightBitParameters::isPlain)
            .filter(them -> them.batches() * them.units() > 0)
            .isPresent();
  }

  /** Reads the input and the states. */
  private record Stepped() implements Lowering {
    @Override
    public Step lower(Node node, Tensors tensors, Budget budget) {
      EightBitParameters parameters = node.operation().parameters(EightBitParameters.class);
      return new Cells(
          parameters,
          weights(node, tensors, parameters, parameters.inputSize(), Gate::weights),
          weights(node, tensors, parameters, parameters.units(), Gate::recurrentWeights),
          bias(node, parameters),
          table(tensors, "logistic", GATE_BITS),
          table(tensors, "tanh", GATE_BITS),
          table(tensors, "tanh", parameters.stateBits()),
          tensors.input(node, 0),
          tensors.input(node, OUTPUT_STATE),
          tensors.input(node, CELL_STATE),
          node.outputs().stream().map(tensors::get).toList());
    }

    @Override
    public boolean reads(ResolvedOperation operation, int input) {
      return DATA.contains(input);
    }

    /** Returns for each element that is multiplied a row of all gates' units. */
    private static int[] weights(
        Node node,
        Tensors tensors,
        EightBitParameters parameters,
        int depth,
        ToIntFunction<Gate> weights) {
      record Key(List<Integer> operands) {}

      List<Integer> inputs = parameters.gates().stream().map(weights::applyAsInt).toList();
      int units = parameters.units();
      return tensors.once(
          new Key(inputs.stream().map(node.inputs()::get).toList()),
          () -> {
            int[] rows = new int[depth * GATES * units];
            for (int gate = 0; gate < GATES; gate++) {
              byte[] own =
                  node.operation()
                      .view()
                      .input(inputs.get(gate))
                      .value()
                      .orElseThrow()
                      .toArray(ValueLayout.JAVA_BYTE);
              for (int unit = 0; unit < units; unit++) {
                for (int i = 0; i < depth; i++) {
                  rows[(i * GATES + gate) * units + unit] = own[unit * depth + i];
                }
              }
            }
            return rows;
          });
    }

    private static int[] bias(Node node, EightBitParameters parameters) {
      return parameters.gates().stream()
          .flatMapToInt(
              gate ->
                  Arrays.stream(
                      Stored.ints(
                          node.operation().view().input(gate.bias()).value().orElseThrow())))
          .toArray();
    }

    private static short[] table(Tensors tensors, String function, int integerBits) {
      record Key(String function, int integerBits) {}

      return tensors.once(
          new Key(function, integerBits),
          () ->
              function.equals("tanh")
                  ? FixedPoint16.tanhs(integerBits)
                  : FixedPoint16.logistics(integerBits));
    }
  }

  /**
   * The cells of each batch.
   *
   * @param weights by element of the input, then by gate
   * @param recurrentWeights by element of the last output, then by gate
   * @param bias by gate
   * @param tanhOfState for numbers that have the integer bits of states
   * @param outputs the output, the state of the cells, and the output again
   */
  private record Cells(
      EightBitParameters parameters,
      int[] weights,
      int[] recurrentWeights,
      int[] bias,
      short[] logistic,
      short[] tanh,
      short[] tanhOfState,
      Tensor input,
      Tensor outputState,
      Tensor cellState,
      List<Tensor> outputs)
      implements Step {
    @Override
    public int tiles() {
      return parameters.batches();
    }

    /** The sums of all gates, of the input and of the last output. */
    @Override
    public int scratchInts() {
      return 2 * bias.length;
    }

    @Override
    public void run(Frame frame, Scratch scratch, int tile) {
      int[] sums = scratch.ints;
      System.arraycopy(bias, 0, sums, 0, bias.length);
      Arrays.fill(sums, bias.length, 2 * bias.length, 0);
      if (multiply(frame, scratch, tile, input, parameters.inputSize(), weights, 0)
          && multiply(
              frame,
              scratch,
              tile,
              outputState,
              parameters.units(),
              recurrentWeights,
              bias.length)) {
        update(frame, sums, tile);
      }
    }

    /** Returns false if the execution ends. */
    private boolean multiply(
        Frame frame, Scratch scratch, int tile, Tensor left, int depth, int[] rows, int to) {
      byte[] in = frame.bytes(left);
      int from = left.offset() + tile * depth;
      int zeroPoint = left.view().zeroPoint();
      int rowsToLook = Math.max(1, LOOK / bias.length);
      for (int i = 0; i < depth; i++) {
        if (i % rowsToLook == 0 && frame.isOver(scratch)) {
          return false;
        }
        addProducts(in[from + i] - zeroPoint, rows, i * bias.length, scratch.ints, to, bias.length);
      }
      return true;
    }

    private static void addProducts(
        int factor, int[] row, int from, int[] sums, int to, int count) {
      for (int i = 0; i < count; i++) {
        sums[to + i] += factor * row[from + i];
      }
    }

    private void update(Frame frame, int[] sums, int tile) {
      int units = parameters.units();
      int first = tile * units;
      short[] old = (short[]) frame.array(cellState);
      short[] states = (short[]) frame.array(outputs.get(1));
      byte[] out = frame.bytes(outputs.get(0));
      byte[] outAgain = frame.bytes(outputs.get(2));
      int limit = parameters.cellClip() > 0 ? parameters.cellClip() : -Short.MIN_VALUE;
      for (int unit = 0; unit < units; unit++) {
        int forget = logistic[argument(parameters.forgetGate(), sums, FORGET, unit)];
        int admit = logistic[argument(parameters.inputGate().orElseThrow(), sums, INPUT, unit)];
        int candidate = tanh[argument(parameters.cellGate(), sums, CELL, unit)];
        int show = logistic[argument(parameters.outputGate(), sums, OUTPUT, unit)];
        int kept = product(forget, old[cellState.offset() + first + unit], FRACTION_BITS);
        int added = product(admit, candidate, FRACTION_BITS + parameters.stateBits());
        int state = Math.clamp(FixedPoint16.saturate(kept + added), -limit, limit);
        int shown = show * tanhOfState[state & 0xFFFF];
        int value = parameters.toHidden().apply(shown) - parameters.hiddenZeroPoint();
        byte stored = (byte) Math.clamp(value, Byte.MIN_VALUE, Byte.MAX_VALUE);
        states[outputs.get(1).offset() + first + unit] = (short) state;
        out[outputs.get(0).offset() + first + unit] = stored;
        outAgain[outputs.get(2).offset() + first + unit] = stored;
      }
    }

    /** Returns where the function of a gate's argument stands in its table. */
    private int argument(Gate gate, int[] sums, int place, int unit) {
      int at = place * parameters.units() + unit;
      int ofInput = FixedPoint16.saturate(gate.input().apply(sums[at]));
      int ofOutput = gate.recurrent().apply(sums[bias.length + at]);
      return FixedPoint16.saturate(ofInput + ofOutput) & 0xFFFF;
    }

    /** A product divided by a power of two, rounded, cut to 16 bits. */
    private static int product(int a, int b, int exponent) {
      return (short) FixedPoint.roundingDivideByPowerOfTwo(a * b, exponent);
    }
  }
}
