// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import com.google.flatbuffers.FlatBufferBuilder;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Elements;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.tflite.TfliteReader;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;
import org.tensorflow.lite.schema.Buffer;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.Model;
import org.tensorflow.lite.schema.Operator;
import org.tensorflow.lite.schema.OperatorCode;
import org.tensorflow.lite.schema.QuantizationParameters;
import org.tensorflow.lite.schema.SubGraph;
import org.tensorflow.lite.schema.Tensor;
import org.tensorflow.lite.schema.TensorType;

/**
 * A TensorFlow Lite file of few operators, which the reference device executes once. Tensors are
 * known by their index.
 */
final class OperatorFile {
  /** An input of an operator that is left out. */
  static final int NONE = -1;

  private static final float[] NO_SCALES = {};

  private final FlatBufferBuilder flat = new FlatBufferBuilder(1024);
  private final List<Integer> buffers = new ArrayList<>();
  private final List<Integer> tensors = new ArrayList<>();
  private final List<Integer> operators = new ArrayList<>();
  private final List<Integer> codes = new ArrayList<>();
  private final List<Integer> given = new ArrayList<>();
  private final List<byte[]> arguments = new ArrayList<>();
  private ReadOptions options = ReadOptions.DEFAULT;

  OperatorFile() {
    Buffer.startBuffer(flat);
    buffers.add(Buffer.endBuffer(flat));
  }

  /** A tensor that the caller gives. */
  int input(byte type, int[] shape, double... values) {
    given.add(tensors.size());
    arguments.add(bytes(type, values));
    return tensor(type, 0, NO_SCALES, 0, false, shape);
  }

  /** A tensor stored in steps of a scale, which the caller gives if there are numbers for it. */
  int quantized(byte type, float scale, int[] shape, double... values) {
    if (values.length > 0) {
      given.add(tensors.size());
      arguments.add(bytes(type, values));
    }
    return tensor(type, 0, new float[] {scale}, 0, false, shape);
  }

  int constant(byte type, int[] shape, double... values) {
    return tensor(type, buffer(bytes(type, values)), NO_SCALES, 0, false, shape);
  }

  /** A constant that is stored in steps of a scale. */
  int stored(byte type, float scale, byte[] values, int... shape) {
    return stored(type, new float[] {scale}, 0, values, shape);
  }

  /** The same with a scale for each index of a dimension. */
  int stored(byte type, float[] scales, int dimension, byte[] values, int... shape) {
    return tensor(type, buffer(values), scales, dimension, false, shape);
  }

  /** A tensor that keeps its value from call to call, zeros at first. */
  int state(int... shape) {
    return tensor(TensorType.FLOAT32, 0, NO_SCALES, 0, true, shape);
  }

  /** A tensor that an operator computes. */
  int result(byte type, int... shape) {
    return tensor(type, 0, NO_SCALES, 0, false, shape);
  }

  OperatorFile operator(int code, int[] inputs, int... outputs) {
    return operator(code, BuiltinOptions.NONE, builder -> 0, inputs, outputs);
  }

  OperatorFile operator(
      int code,
      byte optionsType,
      ToIntFunction<FlatBufferBuilder> options,
      int[] inputs,
      int... outputs) {
    int settings = options.applyAsInt(flat);
    begin(inputs, outputs);
    if (optionsType != BuiltinOptions.NONE) {
      Operator.addBuiltinOptionsType(flat, optionsType);
      Operator.addBuiltinOptions(flat, settings);
    }
    operators.add(Operator.endOperator(flat));
    OperatorCode.startOperatorCode(flat);
    OperatorCode.addDeprecatedBuiltinCode(flat, (byte) Math.min(code, 127));
    OperatorCode.addBuiltinCode(flat, code);
    OperatorCode.addVersion(flat, 1);
    codes.add(OperatorCode.endOperatorCode(flat));
    return this;
  }

  private void begin(int[] inputs, int[] outputs) {
    int ins = Operator.createInputsVector(flat, inputs);
    int outs = Operator.createOutputsVector(flat, outputs);
    Operator.startOperator(flat);
    Operator.addOpcodeIndex(flat, codes.size());
    Operator.addInputs(flat, ins);
    Operator.addOutputs(flat, outs);
  }

  /** An operator that is known by its name. */
  OperatorFile custom(String name, ByteBuffer settings, int[] inputs, int... outputs) {
    int options = Operator.createCustomOptionsVector(flat, settings);
    int text = flat.createString(name);
    begin(inputs, outputs);
    Operator.addCustomOptions(flat, options);
    operators.add(Operator.endOperator(flat));
    OperatorCode.startOperatorCode(flat);
    OperatorCode.addDeprecatedBuiltinCode(flat, (byte) BuiltinOperator.CUSTOM);
    OperatorCode.addBuiltinCode(flat, BuiltinOperator.CUSTOM);
    OperatorCode.addCustomCode(flat, text);
    OperatorCode.addVersion(flat, 1);
    codes.add(OperatorCode.endOperatorCode(flat));
    return this;
  }

  private static byte[] bytes(byte type, double... values) {
    ByteBuffer bytes = ByteBuffer.allocate(8 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (double value : values) {
      switch (type) {
        case TensorType.FLOAT32 -> bytes.putFloat((float) value);
        case TensorType.INT32 -> bytes.putInt((int) value);
        case TensorType.UINT32 -> bytes.putInt((int) (long) value);
        case TensorType.INT16, TensorType.UINT16 -> bytes.putShort((short) (int) value);
        case TensorType.INT8, TensorType.UINT8 -> bytes.put((byte) (int) value);
        case TensorType.INT64 -> bytes.putLong((long) value);
        case TensorType.BOOL -> bytes.put((byte) value);
        default -> throw new IllegalArgumentException(TensorType.name(type));
      }
    }
    byte[] result = new byte[bytes.position()];
    bytes.get(0, result);
    return result;
  }

  private int buffer(byte[] data) {
    buffers.add(Buffer.createBuffer(flat, Buffer.createDataVector(flat, data)));
    return buffers.size() - 1;
  }

  private int tensor(
      byte type, int buffer, float[] scales, int dimension, boolean isVariable, int... shape) {
    int dimensions = Tensor.createShapeVector(flat, shape);
    int name = flat.createString("t" + tensors.size());
    int quantization = 0;
    if (scales.length > 0) {
      int steps = QuantizationParameters.createScaleVector(flat, scales);
      int zeros = QuantizationParameters.createZeroPointVector(flat, new long[scales.length]);
      QuantizationParameters.startQuantizationParameters(flat);
      QuantizationParameters.addScale(flat, steps);
      QuantizationParameters.addZeroPoint(flat, zeros);
      QuantizationParameters.addQuantizedDimension(flat, dimension);
      quantization = QuantizationParameters.endQuantizationParameters(flat);
    }
    Tensor.startTensor(flat);
    Tensor.addShape(flat, dimensions);
    Tensor.addType(flat, type);
    Tensor.addBuffer(flat, buffer);
    Tensor.addName(flat, name);
    Tensor.addIsVariable(flat, isVariable);
    if (scales.length > 0) {
      Tensor.addQuantization(flat, quantization);
    }
    tensors.add(Tensor.endTensor(flat));
    return tensors.size() - 1;
  }

  private byte[] build(int... outputs) {
    int operatorVector = SubGraph.createOperatorsVector(flat, array(operators));
    int tensorVector = SubGraph.createTensorsVector(flat, array(tensors));
    int ins = SubGraph.createInputsVector(flat, array(given));
    int outs = SubGraph.createOutputsVector(flat, outputs);
    SubGraph.startSubGraph(flat);
    SubGraph.addTensors(flat, tensorVector);
    SubGraph.addInputs(flat, ins);
    SubGraph.addOutputs(flat, outs);
    SubGraph.addOperators(flat, operatorVector);
    int[] graph = {SubGraph.endSubGraph(flat)};
    int graphs = Model.createSubgraphsVector(flat, graph);
    int codeVector = Model.createOperatorCodesVector(flat, array(codes));
    int data = Model.createBuffersVector(flat, array(buffers));
    Model.startModel(flat);
    Model.addVersion(flat, 3);
    Model.addOperatorCodes(flat, codeVector);
    Model.addSubgraphs(flat, graphs);
    Model.addBuffers(flat, data);
    flat.finish(Model.endModel(flat), "TFL3");
    return flat.sizedByteArray();
  }

  private static int[] array(List<Integer> values) {
    return values.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Has the file read with choices. */
  OperatorFile with(ReadOptions choices) {
    options = choices;
    return this;
  }

  /** Reads the file, executes it, and returns its outputs; used once. */
  List<double[]> run(int... outputs) throws Exception {
    byte[] file = build(outputs);
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, file.length)) {
      memory.segment().copyFrom(MemorySegment.ofArray(file));
      io.thalamus.model.Model model = new TfliteReader().read(memory, options).model();
      Subgraph graph = model.main();
      for (int i = arguments.size(); i < graph.inputIndexes().size(); i++) {
        Operand state = graph.input(i);
        arguments.add(new byte[(int) state.shape().elementCount() * Float.BYTES]);
      }
      try (PreparedModel prepared = new CpuDevice("1").prepare(model, PrepareConfig.DEFAULT)) {
        List<byte[]> results = TestGraph.run(prepared, graph, arguments.toArray(byte[][]::new));
        List<double[]> numbers = new ArrayList<>();
        for (int i = 0; i < outputs.length; i++) {
          numbers.add(numbers(graph.output(i), results.get(i)));
        }
        return numbers;
      }
    }
  }

  private static double[] numbers(Operand operand, byte[] bytes) {
    Elements elements = Elements.of(operand.type());
    double[] numbers = new double[bytes.length / elements.size()];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = elements.getDouble(MemorySegment.ofArray(bytes), i);
    }
    return numbers;
  }
}
