// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.LittleEndian.SHORT;
import static io.thalamus.operations.QuantizedLstm.CELL_STATE;
import static io.thalamus.operations.QuantizedLstm.DATA;
import static io.thalamus.operations.QuantizedLstm.GATE_BITS;
import static io.thalamus.operations.QuantizedLstm.OUTPUT_STATE;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.FixedPoint16;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.QuantizedLstm.EightBitParameters;
import io.thalamus.operations.QuantizedLstm.Gate;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.compile.Weights.Source;
import io.thalamus.x86.kernel.LstmWords;
import io.thalamus.x86.kernel.Rescale;
import io.thalamus.x86.kernel.Strided;
import io.thalamus.x86.kernel.WordTable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Stream;

/**
 * A step of an 8-bit LSTM: QUANTIZED_LSTM with constant weights, without peepholes, normalization
 * and projection. Its sums are so small that products of floats are exact, in any order; the
 * functions of gates are looked up, by 16 bits. Used once.
 */
final class StoredLstm {
  private static final int GATES = 4;

  /** Up to here each integer is a float. */
  private static final long MOST_EXACT = 1 << Float.PRECISION;

  /** The product of an activated gate and a state. */
  private static final long LARGEST_PRODUCT = -(long) Short.MAX_VALUE * Short.MIN_VALUE;

  private static final int LARGEST_INPUT = 255;
  private static final int MOST_BATCHES = 1 << 10;
  private static final IntRange INTS = new IntRange(Integer.MIN_VALUE, Integer.MAX_VALUE);

  private final ResolvedOperation operation;
  private final Lowering.Operands operands;
  private final ProgramBuilder program;
  private final EightBitParameters parameters;

  /** The units, and some behind them. */
  private final int units;

  private StoredLstm(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    this.operation = operation;
    this.operands = operands;
    this.program = program;
    parameters = operation.parameters(EightBitParameters.class);
    units = Math.ceilDiv(parameters.units(), LstmWords.AT_ONCE) * LstmWords.AT_ONCE;
  }

  /** Adds the operation to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        OperationCode.QUANTIZED_LSTM,
        StoredLstm::isPossible,
        (operation, operands, program) -> new StoredLstm(operation, operands, program).emit(),
        OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);
  }

  private static boolean isPossible(OperationView operation) {
    return operation.hasValuesExcept(DATA)
        && DATA.stream().allMatch(input -> Sizes.isPossible(operation.input(input)))
        && StaticGraph.parameters(operation, EightBitParameters.class)
            .filter(
                parameters ->
                    parameters.isPlain()
                        && parameters.batches() < MOST_BATCHES
                        && Scaling.isPossible(parameters.toHidden(), LARGEST_PRODUCT)
                        && gates(parameters).stream().allMatch(gate -> isPossible(operation, gate)))
            .isPresent();
  }

  private static boolean isPossible(OperationView operation, Gate gate) {
    return isExact(
            gate.input(), operation.input(gate.weights()), operation.input(gate.bias()).int32s())
        && isExact(gate.recurrent(), operation.input(gate.recurrentWeights()), new int[0]);
  }

  /** Returns true if all sums are exact as floats, and can be rescaled. */
  private static boolean isExact(Requantization factor, OperandView weights, int[] bias) {
    // The weights themselves say more, but take time to be read.
    long products = weights.shape().dimension(1) * LARGEST_INPUT * -(long) Byte.MIN_VALUE;
    long offset = 0;
    for (int one : bias) {
      offset = Math.max(offset, Math.abs((long) one));
    }
    return isExact(factor, products + offset) || isExact(factor, largest(weights, bias));
  }

  private static boolean isExact(Requantization factor, long largest) {
    return largest < MOST_EXACT && Scaling.isPossible(factor, largest);
  }

  /** Returns the largest sum of any products that a unit can have, of either sign. */
  private static long largest(OperandView weights, int[] bias) {
    byte[] bytes = bytes(weights);
    int row = weights.shape().dimension(1);
    long all = 0;
    for (int unit = 0; unit < weights.shape().dimension(0); unit++) {
      long largest = bias.length == 0 ? 0 : Math.abs((long) bias[unit]);
      for (int i = unit * row; i < (unit + 1) * row; i++) {
        largest += LARGEST_INPUT * Math.abs(bytes[i]);
      }
      all = Math.max(all, largest);
    }
    return all;
  }

  private static byte[] bytes(OperandView operand) {
    return operand.value().orElseThrow().toArray(ValueLayout.JAVA_BYTE);
  }

  /** The gates in the order of their results: those of the logistic function, then the other. */
  private static List<Gate> gates(EightBitParameters parameters) {
    return List.of(
        parameters.forgetGate(),
        parameters.inputGate().orElseThrow(),
        parameters.outputGate(),
        parameters.cellGate());
  }

  private void emit() {
    int batches = parameters.batches();
    Place inputSums = multiply(0, parameters.inputSize(), Gate::weights, true);
    Place stateSums = multiply(OUTPUT_STATE, parameters.units(), Gate::recurrentWeights, false);
    Place gates = program.place((long) batches * GATES * units * Short.BYTES);
    Place activated = program.place(gates.bytes());
    Place old = program.place((long) batches * units * Short.BYTES);
    copy(operands.input(CELL_STATE), Short.BYTES, parameters.units(), old, units);
    Place states = program.place(old.bytes());
    Place shown = program.place(old.bytes());
    Place hidden = program.place((long) batches * units);
    long logistic = table("logistic", GATE_BITS, FixedPoint16::logistics);
    long tanh = table("tanh", GATE_BITS, FixedPoint16::tanhs);
    long tanhOfState = table("tanh", parameters.stateBits(), FixedPoint16::tanhs);
    LstmWords.States newStates =
        new LstmWords.States(units, parameters.stateBits(), parameters.cellClip());
    LstmWords.Hidden newHidden =
        new LstmWords.Hidden(units, factor(parameters.toHidden()), parameters.hiddenZeroPoint());
    for (int b = 0; b < batches; b++) {
      long row = (long) b * GATES * units;
      for (int gate = 0; gate < GATES; gate++) {
        Gate one = gates(parameters).get(gate);
        long at = row + (long) gate * units;
        program.call(
            new LstmWords.Arguments(units, factor(one.input()), factor(one.recurrent())),
            inputSums.at(at * Float.BYTES),
            gates.at(at * Short.BYTES),
            stateSums.at(at * Float.BYTES));
      }
      long cell = row + (GATES - 1L) * units;
      lookUp((GATES - 1) * units, gates, row, activated, row, logistic);
      lookUp(units, gates, cell, activated, cell, tanh);
      long own = (long) b * units;
      program.call(
          newStates,
          activated.at(row * Short.BYTES),
          states.at(own * Short.BYTES),
          old.at(own * Short.BYTES));
      lookUp(units, states, own, shown, own, tanhOfState);
      program.call(
          newHidden,
          activated.at((row + 2L * units) * Short.BYTES),
          hidden.at(own),
          shown.at(own * Short.BYTES));
    }
    copy(hidden, 1, units, operands.output(0), parameters.units());
    copy(states, Short.BYTES, units, operands.output(1), parameters.units());
    copy(hidden, 1, units, operands.output(2), parameters.units());
  }

  /** The sums of all gates, one after the other, as floats. */
  private Place multiply(int input, int depth, Function<Gate, Integer> weights, boolean isBiased) {
    OperandView view = operation.view().input(input);
    Place numbers = program.place((long) parameters.batches() * depth * Float.BYTES);
    StoredReals.dequantize(true, view.zeroPoint(), 1, operands.input(input), numbers, program);
    Place sums = program.place((long) parameters.batches() * GATES * units * Float.BYTES);
    List<MemorySegment> key =
        gates(parameters).stream()
            .flatMap(
                gate ->
                    isBiased
                        ? Stream.of(weights.apply(gate), gate.bias())
                        : Stream.of(weights.apply(gate)))
            .map(index -> operation.view().input(index).value().orElseThrow())
            .toList();
    Convolution.product(
        key,
        parameters.batches(),
        depth,
        GATES * units,
        () -> weights(depth, weights, isBiased),
        numbers,
        sums,
        program);
    return sums;
  }

  private Weights weights(int depth, Function<Gate, Integer> weights, boolean isBiased) {
    float[] numbers = new float[GATES * units * depth];
    float[] bias = new float[GATES * units];
    int first = 0;
    for (Gate gate : gates(parameters)) {
      byte[] bytes = bytes(operation.view().input(weights.apply(gate)));
      for (int i = 0; i < bytes.length; i++) {
        numbers[first * depth + i] = bytes[i];
      }
      if (isBiased) {
        int[] own = operation.view().input(gate.bias()).int32s();
        for (int i = 0; i < own.length; i++) {
          bias[first + i] = own[i];
        }
      }
      first += units;
    }
    return new Weights(
        Source.of(numbers, program), Optional.of(Source.of(bias, program)), 0, 1, depth);
  }

  private static Rescale factor(Requantization factor) {
    return Scaling.factor(factor, 0, INTS);
  }

  /** Returns where the values of a function of words stand among the constants. */
  private long table(String name, int integerBits, IntFunction<short[]> values) {
    record Key(String name, int integerBits) {}

    return program.once(
        new Key(name, integerBits),
        () -> {
          byte[] table = new byte[WordTable.ENTRIES * Short.BYTES];
          MemorySegment.copy(
              values.apply(integerBits),
              0,
              MemorySegment.ofArray(table),
              SHORT,
              0,
              WordTable.ENTRIES);
          return program.constant(table);
        });
  }

  private void lookUp(int count, Place from, long first, Place to, long target, long table) {
    WordTable words = new WordTable(Short.BYTES, count);
    program.call(
        words, from.at(first * Short.BYTES), to.at(target * Short.BYTES), Spot.ofConstant(table));
  }

  /** Copies the units that mean something. */
  private void copy(Place from, int size, int fromUnits, Place to, int toUnits) {
    Strided copy =
        new Strided(size, parameters.units(), size, size, fromUnits * size, toUnits * size);
    program.call(copy, parameters.batches(), from.at(0), to.at(0));
  }
}
