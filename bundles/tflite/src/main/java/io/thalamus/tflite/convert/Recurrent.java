// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFormatException;
import java.util.ArrayList;
import java.util.List;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.SequenceRNNOptions;
import org.tensorflow.lite.schema.UnidirectionalSequenceLSTMOptions;

/**
 * Recurrent layers over whole sequences. Their state is zero before every sequence: TensorFlow Lite
 * keeps it in a variable tensor from call to call until it is reset, NNAPI takes it as an input,
 * and a model of whole sequences expects none.
 */
final class Recurrent {
  /** Inputs 0 to 19 of the LSTM are the same on both sides. */
  private static final int FIRST_NORMALIZATION = 20;

  private static final int PROJECTION = 16;
  private static final int OUTPUT_STATE = 18;
  private static final int LSTM_INPUTS = 24;

  private Recurrent() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM, Recurrent::lstm);
    table.add(BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_RNN, Recurrent::rnn);
  }

  private static void lstm(Node node) throws ModelFormatException {
    UnidirectionalSequenceLSTMOptions options =
        node.options(new UnidirectionalSequenceLSTMOptions());
    node.require(
        !node.get(options::diagonalRecurrentTensors),
        "its recurrent weights are diagonal, which NNAPI does not have");
    boolean timeMajor = node.get(options::timeMajor);
    if (node.inOperand(0).type() == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED) {
      node.require(
          node.get(options::fusedActivationFunction) == ActivationFunctionType.TANH,
          "its activation is not TANH, the only one that NNAPI has for quantized cells");
      QuantizedSequence.convert(
          node, timeMajor, node.get(options::cellClip), node.get(options::projClip));
      return;
    }
    Operand data = floatData(node);
    int batch = data.shape().dimension(timeMajor ? 1 : 0);
    int cells = TensorTypes.shape(node.input(2)).dimension(0);
    int outputs =
        node.has(PROJECTION) ? TensorTypes.shape(node.input(PROJECTION)).dimension(0) : cells;
    List<Integer> inputs = new ArrayList<>();
    for (int i = 0; i < OUTPUT_STATE; i++) {
      inputs.add(optional(node, i, data));
    }
    inputs.add(zeros(node, data, batch, outputs));
    inputs.add(zeros(node, data, batch, cells));
    inputs.add(node.int32(node.get(options::fusedActivationFunction)));
    inputs.add(node.floatFor(data, node.get(options::cellClip)));
    inputs.add(node.floatFor(data, node.get(options::projClip)));
    inputs.add(node.bool(timeMajor));
    for (int i = FIRST_NORMALIZATION; i < LSTM_INPUTS; i++) {
      inputs.add(optional(node, i, data));
    }
    node.emit(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, node.out(0));
  }

  private static void rnn(Node node) throws ModelFormatException {
    SequenceRNNOptions options = node.options(new SequenceRNNOptions());
    Operand data = floatData(node);
    boolean timeMajor = node.get(options::timeMajor);
    int batch = data.shape().dimension(timeMajor ? 1 : 0);
    int units = TensorTypes.shape(node.input(1)).dimension(0);
    List<Integer> inputs = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      inputs.add(optional(node, i, data));
    }
    inputs.add(zeros(node, data, batch, units));
    inputs.add(node.int32(node.get(options::fusedActivationFunction)));
    inputs.add(node.int32(timeMajor ? 1 : 0));
    node.emit(OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN, inputs, node.out(0));
  }

  private static Operand floatData(Node node) throws ModelFormatException {
    Operand data = node.inOperand(0);
    node.require(
        data.type() == OperandCode.TENSOR_FLOAT32 || data.type() == OperandCode.TENSOR_FLOAT16,
        "its input is " + data.type().text() + "; NNAPI has sequences in floating point only");
    node.require(
        data.shape().rank() == 3 && data.shape().isFullySpecified(),
        "its input has shape " + data.shape() + "; batch, time and features must be known");
    return data;
  }

  /** An input that may be left out; 8-bit weights of a layer over floats become floats. */
  private static int optional(Node node, int input, Operand data) throws ModelFormatException {
    if (!node.has(input)) {
      return node.builder().noValue(data.type());
    }
    boolean hybrid = node.input(input).is8Bit() && node.input(input).isConstant();
    return hybrid ? node.inFloats(input) : node.in(input);
  }

  private static int zeros(Node node, Operand data, int batch, int width)
      throws ModelFormatException {
    long bytes = (long) batch * width * data.type().elementSize();
    return node.constant(
        data, Shape.of(batch, width), node.constants().zeros(bytes, node.output(0)));
  }
}
