// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.tflite.file.FlatTensor;
import java.util.ArrayList;
import java.util.List;
import org.tensorflow.lite.schema.TensorType;

/**
 * An LSTM over a sequence of 8-bit values. NNAPI has such a cell for one step only, QUANTIZED_LSTM,
 * so the sequence is written out: split by time, one cell for each step, and joined again.
 *
 * <pre>
 *   x: T rows of a batch -> SPLIT -> x1   x2  ...      state of step t feeds step t + 1
 *                                    |    |
 *            zero state ->          cell cell ... -> CONCATENATION -> y
 * </pre>
 */
final class QuantizedSequence {
  private static final int MAX_STEPS = 1024;

  private static final int WEIGHTS = 1;
  private static final int PEEPHOLES = 9;
  private static final int BIASES = 12;
  private static final int PROJECTION = 16;
  private static final int PROJECTION_BIAS = 17;
  private static final int OUTPUT_STATE = 18;
  private static final int CELL_STATE = 19;
  private static final int NORMALIZATION = 20;
  private static final int NORMALIZATION_END = 24;

  /** The intermediate tensors: one for each gate, and the hidden state before projection. */
  private static final int GATES = 4;

  /** Without layer normalization gates are summed with this scale, in NNAPI as in the file. */
  private static final float GATE_SCALE = 1f / 4096;

  private final Node node;
  private final boolean timeMajor;
  private final int steps;
  private final int batch;
  private final int features;
  private final int units;
  private final Operand output;
  private final Quantization cellQuantization;
  private final int cells;

  private QuantizedSequence(Node node, boolean timeMajor, Operand output) {
    Shape shape = node.shapeOf(0);
    node.require(
        shape.rank() == 3 && shape.isFullySpecified(),
        "its input has shape " + shape + "; batch, time and features must be known");
    this.node = node;
    this.timeMajor = timeMajor;
    this.steps = shape.dimension(timeMajor ? 0 : 1);
    this.batch = shape.dimension(timeMajor ? 1 : 0);
    this.features = shape.dimension(2);
    node.require(
        steps <= MAX_STEPS,
        "it has " + steps + " steps; written out step by step it may have " + MAX_STEPS);
    FlatTensor state = node.input(OUTPUT_STATE);
    FlatTensor cell = node.input(CELL_STATE);
    node.require(
        state.is(TensorType.INT8) && cell.is(TensorType.INT16),
        "its state is " + state.typeName() + " and " + cell.typeName());
    this.units = lastDimension(state);
    this.cells = lastDimension(cell);
    this.cellQuantization = TensorTypes.quantization(cell);
    this.output = output;
    node.require(
        output.quantization().equals(TensorTypes.quantization(state)),
        "its output is not quantized as its state is");
  }

  /** Adds the operations of the sequence. */
  static void convert(Node node, boolean timeMajor, float cellClip, float projectionClip) {
    int target = node.out(0);
    QuantizedSequence sequence = new QuantizedSequence(node, timeMajor, node.operand(target));
    sequence.emit(sequence.constants(cellClip, projectionClip), target);
  }

  private static int lastDimension(FlatTensor tensor) {
    Shape shape = TensorTypes.shape(tensor);
    return shape.dimension(shape.rank() - 1);
  }

  private void emit(List<Integer> constants, int target) {
    int state = zeroState(OperandCode.TENSOR_QUANT8_ASYMM_SIGNED, units, output.quantization());
    int cell = zeroState(OperandCode.TENSOR_QUANT16_SYMM, cells, cellQuantization);
    List<Integer> results = new ArrayList<>();
    for (int step : split()) {
      int nextState = state(units);
      int nextCell =
          node.temporary(OperandCode.TENSOR_QUANT16_SYMM, Shape.of(batch, cells), cellQuantization);
      int result = state(units);
      List<Integer> inputs = new ArrayList<>(constants);
      inputs.set(0, step);
      inputs.set(OUTPUT_STATE, state);
      inputs.set(CELL_STATE, cell);
      node.emit(OperationCode.QUANTIZED_LSTM, inputs, List.of(nextState, nextCell, result));
      results.add(result);
      state = nextState;
      cell = nextCell;
    }
    join(results, target);
  }

  /** The input of each step, batch by features. */
  private List<Integer> split() {
    int input = node.in(0);
    Operand data = node.operand(input);
    int ordered =
        timeMajor || batch == 1
            ? input
            : node.compute(
                OperationCode.TRANSPOSE,
                data,
                Shape.of(steps, batch, features),
                input,
                node.int32Vector(1, 0, 2));
    int rows =
        Reshape.reshaped(node, ordered, Shape.of(Math.multiplyExact(steps, batch), features));
    if (steps == 1) {
      return List.of(rows);
    }
    List<Integer> parts = new ArrayList<>();
    for (int i = 0; i < steps; i++) {
      parts.add(node.temporary(data, Shape.of(batch, features)));
    }
    node.emit(OperationCode.SPLIT, List.of(rows, node.int32(0), node.int32(steps)), parts);
    return parts;
  }

  private void join(List<Integer> results, int target) {
    int rows = results.getFirst();
    if (steps > 1) {
      rows = node.temporary(output, Shape.of(Math.multiplyExact(steps, batch), units));
      List<Integer> inputs = new ArrayList<>(results);
      inputs.add(node.int32(0));
      node.emit(OperationCode.CONCATENATION, inputs, rows);
    }
    if (timeMajor || batch == 1) {
      Reshape.emit(node, rows, target);
      return;
    }
    int ordered = node.temporary(output, Shape.of(steps, batch, units));
    Reshape.emit(node, rows, ordered);
    node.emit(OperationCode.TRANSPOSE, target, ordered, node.int32Vector(1, 0, 2));
  }

  private int state(int width) {
    return node.temporary(output, Shape.of(batch, width));
  }

  /** Real zeros: bytes of the zero point. */
  private int zeroState(OperandCode type, int width, Quantization quantization) {
    long size = (long) batch * width * type.elementSize();
    ConstantCopy zeros = node.constants().filled(size, quantization.zeroPoint(), node.output(0));
    return node.constant(type, Shape.of(batch, width), quantization, zeros);
  }

  /** The inputs of a cell, of which those that change with time are still open. */
  private List<Integer> constants(float cellClip, float projectionClip) {
    List<Integer> inputs = new ArrayList<>();
    inputs.add(-1);
    add(inputs, WEIGHTS, PEEPHOLES, OperandCode.TENSOR_QUANT8_SYMM);
    add(inputs, PEEPHOLES, BIASES, OperandCode.TENSOR_QUANT16_SYMM);
    add(inputs, BIASES, PROJECTION, OperandCode.TENSOR_INT32);
    add(inputs, PROJECTION, PROJECTION_BIAS, OperandCode.TENSOR_QUANT8_SYMM);
    add(inputs, PROJECTION_BIAS, OUTPUT_STATE, OperandCode.TENSOR_INT32);
    inputs.add(-1);
    inputs.add(-1);
    add(inputs, NORMALIZATION, NORMALIZATION_END, OperandCode.TENSOR_QUANT16_SYMM);
    inputs.add(node.float32(cellClip));
    inputs.add(node.float32(projectionClip));
    for (int gate = 0; gate < GATES; gate++) {
      boolean normalized = node.has(NORMALIZATION + gate);
      inputs.add(node.float32(normalized ? intermediate(gate).scale() : GATE_SCALE));
    }
    Quantization hidden = intermediate(GATES);
    // NNAPI's operation takes the zero point away where TensorFlow Lite adds it.
    inputs.add(node.int32(-hidden.zeroPoint()));
    inputs.add(node.float32(hidden.scale()));
    return inputs;
  }

  private void add(List<Integer> inputs, int from, int to, OperandCode type) {
    for (int i = from; i < to; i++) {
      inputs.add(node.has(i) ? constant(node.input(i), type) : omitted(type));
    }
  }

  /** Even what is left out has a scale, where its type needs one. */
  private int omitted(OperandCode type) {
    Quantization quantization =
        type == OperandCode.TENSOR_INT32 ? Quantization.NONE : Quantization.of(1, 0);
    return node.builder()
        .operand(new Operand(type, Shape.NONE, quantization, Lifetime.NO_VALUE, ""));
  }

  private int constant(FlatTensor tensor, OperandCode type) {
    node.require(
        tensor.isConstant() && TensorTypes.elementSize(tensor) == type.elementSize(),
        tensor.text() + " is " + tensor.typeName() + "; the cell wants a constant " + type.text());
    Quantization quantization =
        type == OperandCode.TENSOR_INT32 ? Quantization.NONE : TensorTypes.quantization(tensor);
    node.require(quantization.zeroPoint() == 0, tensor.text() + " is not symmetric");
    return node.builder()
        .constant(
            tensor.name(),
            type,
            TensorTypes.shape(tensor),
            quantization,
            node.constants().place(tensor));
  }

  private Quantization intermediate(int index) {
    int[] intermediates = node.operator().intermediates();
    node.require(
        intermediates.length > index && intermediates[index] >= 0,
        "it does not say how its intermediate values are quantized");
    return TensorTypes.quantization(node.tensor(intermediates[index]));
  }
}
