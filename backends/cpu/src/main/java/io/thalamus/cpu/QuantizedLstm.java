// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.Elements.INT16;
import static io.thalamus.model.Elements.INT32;
import static io.thalamus.model.Elements.INT8;
import static io.thalamus.model.Elements.UINT8;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.operations.QuantizedLstm.CELL_STATE;
import static io.thalamus.operations.QuantizedLstm.GATE_BITS;
import static io.thalamus.operations.QuantizedLstm.OUTPUT_STATE;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.FixedPoint;
import io.thalamus.operations.FixedPoint16;
import io.thalamus.operations.FixedPointFunctions;
import io.thalamus.operations.QuantizedLstm.EightBitParameters;
import io.thalamus.operations.QuantizedLstm.Gate;
import io.thalamus.operations.QuantizedLstm.Norm;
import io.thalamus.operations.QuantizedLstm.Peephole;
import io.thalamus.operations.QuantizedLstm.Projection;
import io.thalamus.operations.QuantizedLstm.SixteenBitParameters;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.ResolvedOperation;
import java.lang.foreign.MemorySegment;

/** Members of the family {@link Recurrent} with a long memory in integers. */
final class QuantizedLstm {
  private QuantizedLstm() {}

  static void register(KernelTable.Builder table) {
    table
        .add(OperationCode.QUANTIZED_16BIT_LSTM, SixteenBit::new, TENSOR_QUANT8_ASYMM)
        .add(OperationCode.QUANTIZED_LSTM, EightBit::new, TENSOR_QUANT8_ASYMM_SIGNED);
  }

  private record SixteenBit(SixteenBitParameters parameters) implements Kernel {
    /** Integer bits of the cell state. */
    private static final int STATE_BITS = 4;

    private static final int ZERO_POINT = 128;
    private static final int WEIGHTS = 1;
    private static final int RECURRENT_WEIGHTS = 5;
    private static final int BIAS = 9;
    private static final int CELL_STATE = 13;
    private static final int OUTPUT_STATE = 14;

    SixteenBit(ResolvedOperation operation) {
      this(operation.parameters(SixteenBitParameters.class));
    }

    @Override
    public void run(
        MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
      for (int b = 0; b < parameters.batches(); b++) {
        for (int u = 0; u < parameters.units(); u++) {
          work.done(4L * (parameters.inputSize() + parameters.units()));
          long index = (long) b * parameters.units() + u;
          int admit = FixedPoint16.logistic(argument(inputs, 0, b, u), GATE_BITS);
          int forget = FixedPoint16.logistic(argument(inputs, 1, b, u), GATE_BITS);
          int candidate = FixedPoint16.tanh(argument(inputs, 2, b, u), GATE_BITS);
          int show = FixedPoint16.logistic(argument(inputs, 3, b, u), GATE_BITS);
          int admitted =
              FixedPoint16.multiplyByPowerOfTwo(
                  FixedPoint16.multiply(admit, candidate), -STATE_BITS);
          int kept = FixedPoint16.multiply(forget, INT16.getInt(inputs[CELL_STATE], index));
          int state = FixedPoint16.saturate(admitted + kept);
          int ofGateBits = FixedPoint16.multiplyByPowerOfTwo(state, STATE_BITS - GATE_BITS);
          int output = FixedPoint16.multiply(show, FixedPoint16.tanh(ofGateBits, GATE_BITS));
          int stored = FixedPoint.roundingDivideByPowerOfTwo(output, Byte.SIZE);
          INT16.setInt(outputs[0], index, state);
          UINT8.setInt(
              outputs[1], index, Math.clamp(stored, Byte.MIN_VALUE, Byte.MAX_VALUE) + ZERO_POINT);
        }
      }
    }

    /**
     * The argument of a gate for one unit. The row of recurrent weights and input weights meets the
     * row of input and output state; see {@link SixteenBitParameters}.
     */
    private int argument(MemorySegment[] inputs, int gate, long batch, long unit) {
      int size = parameters.inputSize();
      int units = parameters.units();
      int sum = INT32.getInt(inputs[BIAS + gate], unit);
      for (int i = 0; i < size + units; i++) {
        int value =
            i < size
                ? UINT8.getInt(inputs[0], batch * size + i)
                : UINT8.getInt(inputs[OUTPUT_STATE], batch * units + i - size);
        int weight =
            i < units
                ? UINT8.getInt(inputs[RECURRENT_WEIGHTS + gate], unit * units + i)
                : UINT8.getInt(inputs[WEIGHTS + gate], unit * size + i - units);
        sum += (value - ZERO_POINT) * (weight - parameters.weightZeroPoint());
      }
      return FixedPoint16.saturate(parameters.toGate().apply(sum));
    }
  }

  /** Scratch memory, in shorts: for one batch four gates, then the hidden state. */
  private record EightBit(EightBitParameters parameters) implements Kernel {
    /** Normalized values have 10 fraction bits. */
    private static final int NORM_BITS = 10;

    EightBit(ResolvedOperation operation) {
      this(operation.parameters(EightBitParameters.class));
    }

    @Override
    public long scratchSize() {
      return 5L * parameters.units() * Short.BYTES;
    }

    @Override
    public void run(
        MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
      int units = parameters.units();
      long admitted = 0;
      long forgotten = units;
      long candidates = 2L * units;
      long shown = 3L * units;
      long hidden = 4L * units;
      int stateBits = parameters.stateBits();
      for (int b = 0; b < parameters.batches(); b++) {
        long first = (long) b * units;
        MemorySegment oldState = inputs[CELL_STATE];
        MemorySegment newState = outputs[1];
        gate(parameters.forgetGate(), inputs, b, oldState, scratch, forgotten, work);
        gate(parameters.cellGate(), inputs, b, oldState, scratch, candidates, work);
        if (parameters.inputGate().isPresent()) {
          gate(parameters.inputGate().get(), inputs, b, oldState, scratch, admitted, work);
        }
        for (int u = 0; u < units; u++) {
          int forget = FixedPoint16.logistic(INT16.getInt(scratch, forgotten + u), GATE_BITS);
          int admit =
              parameters.inputGate().isPresent()
                  ? FixedPoint16.logistic(INT16.getInt(scratch, admitted + u), GATE_BITS)
                  : FixedPoint16.ONE - forget;
          int candidate = FixedPoint16.tanh(INT16.getInt(scratch, candidates + u), GATE_BITS);
          int kept = product(forget, INT16.getInt(oldState, first + u), 15);
          int added = product(admit, candidate, 15 + stateBits);
          int state = FixedPoint16.saturate(kept + added);
          int limit = parameters.cellClip();
          INT16.setInt(newState, first + u, limit > 0 ? Math.clamp(state, -limit, limit) : state);
        }
        gate(parameters.outputGate(), inputs, b, newState, scratch, shown, work);
        for (int u = 0; u < units; u++) {
          int show = FixedPoint16.logistic(INT16.getInt(scratch, shown + u), GATE_BITS);
          int state = FixedPoint16.tanh(INT16.getInt(newState, first + u), stateBits);
          int value = parameters.toHidden().apply(show * state) - parameters.hiddenZeroPoint();
          INT16.setInt(scratch, hidden + u, Math.clamp(value, Byte.MIN_VALUE, Byte.MAX_VALUE));
        }
        for (int o = 0; o < parameters.outputs(); o++) {
          work.done(units);
          long index = (long) b * parameters.outputs() + o;
          int output =
              parameters.projection().isPresent()
                  ? projected(parameters.projection().get(), inputs, scratch, hidden, o)
                  : INT16.getInt(scratch, hidden + o);
          INT8.setInt(outputs[0], index, output);
          INT8.setInt(outputs[2], index, output);
        }
      }
    }

    /** A product of 16-bit numbers divided by a power of two, rounded, cut to 16 bits. */
    private static int product(int a, int b, int exponent) {
      return (short) FixedPoint.roundingDivideByPowerOfTwo(a * b, exponent);
    }

    /** The arguments of a gate for all units of a batch; a peephole sees the state given. */
    private void gate(
        Gate gate,
        MemorySegment[] inputs,
        int batch,
        MemorySegment cellState,
        MemorySegment scratch,
        long result,
        WorkMeter work) {
      int units = parameters.units();
      for (int u = 0; u < units; u++) {
        work.done(parameters.inputSize() + parameters.outputs());
        int ofInput =
            dot(
                inputs[0],
                batch,
                parameters.inputZeroPoint(),
                inputs[gate.weights()],
                u,
                parameters.inputSize());
        if (gate.norm().isEmpty()) {
          ofInput += INT32.getInt(inputs[gate.bias()], u);
        }
        int ofState =
            dot(
                inputs[OUTPUT_STATE],
                batch,
                parameters.outputStateZeroPoint(),
                inputs[gate.recurrentWeights()],
                u,
                parameters.outputs());
        int sum = FixedPoint16.saturate(gate.input().apply(ofInput));
        sum = FixedPoint16.saturate(sum + gate.recurrent().apply(ofState));
        if (gate.peephole().isPresent()) {
          Peephole peephole = gate.peephole().get();
          int seen =
              INT16.getInt(inputs[peephole.weights()], u)
                  * INT16.getInt(cellState, (long) batch * units + u);
          sum = FixedPoint16.saturate(sum + peephole.scale().apply(seen));
        }
        INT16.setInt(scratch, result + u, sum);
      }
      if (gate.norm().isPresent()) {
        normalize(gate.norm().get(), inputs, inputs[gate.bias()], scratch, result);
      }
    }

    private static int dot(
        MemorySegment vectors,
        long vector,
        int zeroPoint,
        MemorySegment matrix,
        long row,
        int length) {
      int sum = 0;
      for (int i = 0; i < length; i++) {
        sum +=
            (INT8.getInt(vectors, vector * length + i) - zeroPoint)
                * INT8.getInt(matrix, row * length + i);
      }
      return sum;
    }

    /** Layer normalization in integers, as TensorFlow Lite's ApplyLayerNorm. */
    private void normalize(
        Norm norm, MemorySegment[] inputs, MemorySegment bias, MemorySegment scratch, long row) {
      int units = parameters.units();
      int guard = 1 << 20;
      long sum = 0;
      long sumOfSquares = 0;
      for (int u = 0; u < units; u++) {
        int value = INT16.getInt(scratch, row + u);
        sum += value;
        sumOfSquares += (long) value * value;
      }
      int mean = (int) ((sum << NORM_BITS) / units);
      long scaledVariance = sumOfSquares * (guard / units) - (long) mean * mean;
      int variance = (int) (scaledVariance / guard);
      Requantization inverse =
          FixedPointFunctions.inverseSquareRoot(variance < 1 ? norm.leastVariance() : variance);
      for (int u = 0; u < units; u++) {
        int distance = (INT16.getInt(scratch, row + u) << NORM_BITS) - mean;
        long weighted =
            (long) inverse.apply(distance) * INT16.getInt(inputs[norm.weights()], u)
                + INT32.getInt(bias, u);
        int half = 1 << NORM_BITS - 1;
        int rounded = (int) ((weighted > 0 ? weighted + half : weighted - half) / (2 * half));
        INT16.setInt(scratch, row + u, FixedPoint16.saturate(norm.scale().apply(rounded)));
      }
    }

    private int projected(
        Projection projection,
        MemorySegment[] inputs,
        MemorySegment scratch,
        long hidden,
        int output) {
      int sum = projection.bias() < 0 ? 0 : INT32.getInt(inputs[projection.bias()], output);
      int units = parameters.units();
      for (int u = 0; u < units; u++) {
        // The zero point was subtracted from the hidden state, so it is added here.
        sum +=
            (INT16.getInt(scratch, hidden + u) + parameters.hiddenZeroPoint())
                * INT8.getInt(inputs[projection.weights()], (long) output * units + u);
      }
      int stored = projection.scale().apply(sum) + parameters.outputStateZeroPoint();
      return projection.range().clamp(stored);
    }
  }
}
