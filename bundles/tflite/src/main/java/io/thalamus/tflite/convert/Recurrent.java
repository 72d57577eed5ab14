// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.tflite.file.FlatTensor;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.BidirectionalSequenceLSTMOptions;
import org.tensorflow.lite.schema.BidirectionalSequenceRNNOptions;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.LSTMKernelType;
import org.tensorflow.lite.schema.LSTMOptions;
import org.tensorflow.lite.schema.RNNOptions;
import org.tensorflow.lite.schema.SVDFOptions;
import org.tensorflow.lite.schema.SequenceRNNOptions;
import org.tensorflow.lite.schema.UnidirectionalSequenceLSTMOptions;

/**
 * Recurrent layers. The state of those over whole sequences is zero before each sequence:
 * TensorFlow Lite keeps it in a variable tensor from call to call until it is reset, NNAPI takes it
 * as an input, and a model of whole sequences expects none. Of layers that take one step in each
 * call it is a state of the model; see {@link Variables}.
 */
final class Recurrent {
  /** Inputs 0 to 19 of the LSTM are the same on both sides. */
  private static final int FIRST_NORMALIZATION = 20;

  private static final int PROJECTION = 16;
  private static final int OUTPUT_STATE = 18;
  private static final int LSTM_INPUTS = 24;

  /** Inputs of an LSTM in both directions. */
  private static final int SECOND_CELL = 18;

  private static final int FIRST_STATE = 35;
  private static final int BOTH_WAYS_INPUTS = 48;

  private Recurrent() {}

  static void addTo(Converters table) {
    table.add(BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM, Recurrent::lstm);
    table.add(BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_RNN, Recurrent::rnn);
    table.add(BuiltinOperator.BIDIRECTIONAL_SEQUENCE_LSTM, Recurrent::bothWaysLstm);
    table.add(BuiltinOperator.BIDIRECTIONAL_SEQUENCE_RNN, Recurrent::bothWaysRnn);
    table.add(BuiltinOperator.LSTM, Recurrent::lstmStep);
    table.add(BuiltinOperator.RNN, Recurrent::rnnStep);
    table.add(BuiltinOperator.SVDF, Recurrent::svdf);
  }

  private static void lstm(Node node) {
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
    Operand data = floatData(node, 3);
    int batch = data.shape().dimension(timeMajor ? 1 : 0);
    int cells = TensorTypes.shape(node.input(2)).dimension(0);
    int outputs =
        node.has(PROJECTION) ? TensorTypes.shape(node.input(PROJECTION)).dimension(0) : cells;
    List<Integer> inputs = new ArrayList<>();
    addOptional(node, 0, OUTPUT_STATE, data, inputs);
    inputs.add(zeros(node, data, batch, outputs));
    inputs.add(zeros(node, data, batch, cells));
    inputs.add(node.int32(node.get(options::fusedActivationFunction)));
    inputs.add(node.floatFor(data, node.get(options::cellClip)));
    inputs.add(node.floatFor(data, node.get(options::projClip)));
    inputs.add(node.bool(timeMajor));
    addOptional(node, FIRST_NORMALIZATION, LSTM_INPUTS, data, inputs);
    node.emit(OperationCode.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, node.out(0));
  }

  private static void rnn(Node node) {
    SequenceRNNOptions options = node.options(new SequenceRNNOptions());
    Operand data = floatData(node, 3);
    boolean timeMajor = node.get(options::timeMajor);
    int batch = data.shape().dimension(timeMajor ? 1 : 0);
    int units = TensorTypes.shape(node.input(1)).dimension(0);
    List<Integer> inputs = new ArrayList<>();
    addOptional(node, 0, 4, data, inputs);
    inputs.add(zeros(node, data, batch, units));
    inputs.add(node.int32(node.get(options::fusedActivationFunction)));
    inputs.add(node.int32(timeMajor ? 1 : 0));
    node.emit(OperationCode.UNIDIRECTIONAL_SEQUENCE_RNN, inputs, node.out(0));
  }

  private static void bothWaysLstm(Node node) {
    BidirectionalSequenceLSTMOptions options = node.options(new BidirectionalSequenceLSTMOptions());
    Operand data = floatData(node, 3);
    boolean timeMajor = node.get(options::timeMajor);
    int batch = data.shape().dimension(timeMajor ? 1 : 0);
    List<Integer> inputs = new ArrayList<>();
    addOptional(node, 0, FIRST_STATE, data, inputs);
    for (int first : new int[] {1, SECOND_CELL}) {
      int cells = TensorTypes.shape(node.input(first + 1)).dimension(0);
      int projection = first + PROJECTION - 1;
      int outputs =
          node.has(projection) ? TensorTypes.shape(node.input(projection)).dimension(0) : cells;
      inputs.add(zeros(node, data, batch, outputs));
      inputs.add(zeros(node, data, batch, cells));
    }
    addOptional(node, FIRST_STATE + 4, BOTH_WAYS_INPUTS, data, inputs);
    inputs.add(node.int32(node.get(options::fusedActivationFunction)));
    inputs.add(node.floatFor(data, node.get(options::cellClip)));
    inputs.add(node.floatFor(data, node.get(options::projClip)));
    inputs.add(node.bool(node.get(options::mergeOutputs)));
    inputs.add(node.bool(timeMajor));
    for (int i = 0; i < 8; i++) {
      inputs.add(node.builder().noValue(data.type()));
    }
    node.emit(OperationCode.BIDIRECTIONAL_SEQUENCE_LSTM, inputs, node.outs());
  }

  private static void bothWaysRnn(Node node) {
    BidirectionalSequenceRNNOptions options = node.options(new BidirectionalSequenceRNNOptions());
    Operand data = floatData(node, 3);
    boolean timeMajor = node.get(options::timeMajor);
    int batch = data.shape().dimension(timeMajor ? 1 : 0);
    List<Integer> inputs = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      boolean isState = i == 4 || i == 8;
      inputs.add(
          isState
              ? zeros(node, data, batch, TensorTypes.shape(node.input(i - 3)).dimension(0))
              : optional(node, i, data));
    }
    inputs.add(node.int32(node.get(options::fusedActivationFunction)));
    inputs.add(node.bool(timeMajor));
    inputs.add(node.bool(node.get(options::mergeOutputs)));
    node.emit(OperationCode.BIDIRECTIONAL_SEQUENCE_RNN, inputs, node.outs());
  }

  private static void lstmStep(Node node) {
    LSTMOptions options = node.options(new LSTMOptions());
    node.require(
        node.get(options::kernelType) == LSTMKernelType.FULL,
        "it is a BASIC cell, whose gates share one matrix; export it as one of separate gates");
    Operand data = floatData(node, 2);
    int batch = data.shape().dimension(0);
    int cells = TensorTypes.shape(node.input(2)).dimension(0);
    List<Integer> inputs = new ArrayList<>();
    addOptional(node, 0, OUTPUT_STATE, data, inputs);
    Variables variables = node.model().variables();
    List<FlatTensor> states = List.of(node.input(OUTPUT_STATE), node.input(OUTPUT_STATE + 1));
    List<Integer> outputs = new ArrayList<>();
    outputs.add(node.temporary(data, Shape.of(batch, cells * (node.has(1) ? 4 : 3))));
    for (FlatTensor state : states) {
      inputs.add(variables.kept(node, state));
      outputs.add(node.temporary(data, TensorTypes.shape(state)));
    }
    inputs.add(node.int32(node.get(options::fusedActivationFunction)));
    inputs.add(node.floatFor(data, node.get(options::cellClip)));
    inputs.add(node.floatFor(data, node.get(options::projClip)));
    addOptional(node, FIRST_NORMALIZATION, LSTM_INPUTS, data, inputs);
    outputs.add(node.out(0));
    node.emit(OperationCode.LSTM, inputs, outputs);
    variables.keep(states.get(0), outputs.get(1));
    variables.keep(states.get(1), outputs.get(2));
  }

  private static void rnnStep(Node node) {
    RNNOptions options = node.options(new RNNOptions());
    Operand data = floatData(node, 2);
    step(node, data, OperationCode.RNN, node.int32(node.get(options::fusedActivationFunction)));
  }

  private static void svdf(Node node) {
    if (IntegerSvdf.isPossible(node)) {
      IntegerSvdf.convert(node);
      return;
    }
    SVDFOptions options = node.options(new SVDFOptions());
    Operand data = floatData(node, 2);
    int rank = node.int32(node.get(options::rank));
    step(
        node,
        data,
        OperationCode.SVDF,
        rank,
        node.int32(node.get(options::fusedActivationFunction)));
  }

  /** One step of a cell with one state, which is its input 4. */
  private static void step(Node node, Operand data, OperationCode code, int... settings) {
    List<Integer> inputs = new ArrayList<>();
    addOptional(node, 0, 4, data, inputs);
    FlatTensor state = node.input(4);
    inputs.add(node.model().variables().kept(node, state));
    IntStream.of(settings).forEach(inputs::add);
    int next = node.temporary(data, TensorTypes.shape(state));
    node.emit(code, inputs, List.of(next, node.out(0)));
    node.model().variables().keep(state, next);
  }

  private static Operand floatData(Node node, int rank) {
    Operand data = node.inOperand(0);
    node.require(
        data.type() == OperandCode.TENSOR_FLOAT32 || data.type() == OperandCode.TENSOR_FLOAT16,
        "its input is " + data.type().text() + "; NNAPI has sequences in floating point only");
    node.require(
        data.shape().rank() == rank && data.shape().isFullySpecified(),
        "its input has shape " + data.shape() + "; all of it must be known beforehand");
    return data;
  }

  private static void addOptional(
      Node node, int first, int end, Operand data, List<Integer> inputs) {
    for (int i = first; i < end; i++) {
      inputs.add(optional(node, i, data));
    }
  }

  /** An input that may be left out; stored weights of a layer over floats become floats. */
  private static int optional(Node node, int input, Operand data) {
    if (!node.has(input)) {
      return node.builder().noValue(data.type());
    }
    FlatTensor tensor = node.input(input);
    boolean isStored = tensor.isConstant() && (tensor.is8Bit() || tensor.scales().length > 0);
    return isStored ? node.inWeights(input) : node.in(input);
  }

  private static int zeros(Node node, Operand data, int batch, int width) {
    long bytes = (long) batch * width * data.type().elementSize();
    return node.constant(
        data, Shape.of(batch, width), node.constants().zeros(bytes, node.output(0)));
  }
}
