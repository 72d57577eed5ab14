// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import com.google.flatbuffers.FlatBufferBuilder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToIntFunction;
import org.tensorflow.lite.schema.Buffer;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.CallOnceOptions;
import org.tensorflow.lite.schema.DimensionMetadata;
import org.tensorflow.lite.schema.DimensionType;
import org.tensorflow.lite.schema.IfOptions;
import org.tensorflow.lite.schema.Int32Vector;
import org.tensorflow.lite.schema.Metadata;
import org.tensorflow.lite.schema.Model;
import org.tensorflow.lite.schema.Operator;
import org.tensorflow.lite.schema.OperatorCode;
import org.tensorflow.lite.schema.QuantizationParameters;
import org.tensorflow.lite.schema.SignatureDef;
import org.tensorflow.lite.schema.SparseIndexVector;
import org.tensorflow.lite.schema.SparsityParameters;
import org.tensorflow.lite.schema.SubGraph;
import org.tensorflow.lite.schema.Tensor;
import org.tensorflow.lite.schema.TensorMap;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.Uint8Vector;
import org.tensorflow.lite.schema.WhileOptions;

/** Writes small {@code .tflite} files for tests, with the schema's own builders. */
final class TfliteFileBuilder {
  private final FlatBufferBuilder flat = new FlatBufferBuilder(1024);
  private final List<Integer> buffers = new ArrayList<>();
  private final List<Integer> codes = new ArrayList<>();
  private final List<Integer> graphs = new ArrayList<>();
  private final List<Integer> metadata = new ArrayList<>();
  private final List<Integer> signatures = new ArrayList<>();
  private List<Integer> tensors = new ArrayList<>();
  private List<Integer> operators = new ArrayList<>();

  TfliteFileBuilder() {
    Buffer.startBuffer(flat);
    buffers.add(Buffer.endBuffer(flat));
  }

  /** The storage of real numbers; null for other values. */
  record Quantized(float[] scales, long[] zeroPoints, int dimension) {
    static Quantized of(float scale, long zeroPoint) {
      return new Quantized(new float[] {scale}, new long[] {zeroPoint}, 0);
    }
  }

  /** A computed tensor; its index. */
  int tensor(String name, byte type, Quantized quantized, int... shape) {
    return tensor(name, type, quantized, 0, false, shape);
  }

  int floats(String name, int... shape) {
    return tensor(name, TensorType.FLOAT32, null, shape);
  }

  /** A computed tensor whose dimensions of -1 change from call to call; 1 in the file. */
  int open(String name, byte type, int... signature) {
    int text = flat.createString(name);
    int[] shape = Arrays.stream(signature).map(size -> Math.max(1, size)).toArray();
    int dimensions = Tensor.createShapeVector(flat, shape);
    int open = Tensor.createShapeSignatureVector(flat, signature);
    Tensor.startTensor(flat);
    Tensor.addName(flat, text);
    Tensor.addType(flat, type);
    Tensor.addShape(flat, dimensions);
    Tensor.addShapeSignature(flat, open);
    tensors.add(Tensor.endTensor(flat));
    return tensors.size() - 1;
  }

  /** An entry point of a graph, with one input and one output. */
  TfliteFileBuilder signature(String name, int graph, int input, int output) {
    int key = flat.createString(name);
    int in = flat.createString("in_" + name);
    int out = flat.createString("out_" + name);
    int inputs =
        SignatureDef.createInputsVector(
            flat, new int[] {TensorMap.createTensorMap(flat, in, input)});
    int outputs =
        SignatureDef.createOutputsVector(
            flat, new int[] {TensorMap.createTensorMap(flat, out, output)});
    signatures.add(SignatureDef.createSignatureDef(flat, inputs, outputs, key, graph));
    return this;
  }

  /** A tensor that keeps its value. */
  int variable(String name, byte type, int... shape) {
    return tensor(name, type, null, 0, true, shape);
  }

  /** A tensor that keeps its quantized value. */
  int variable(String name, byte type, Quantized quantized, int... shape) {
    return tensor(name, type, quantized, 0, true, shape);
  }

  /**
   * A constant whose rows are stored without their zeros.
   *
   * @param data the other elements
   * @param segments where each row begins among them, and one end
   * @param columns where in its row each of them stands
   */
  int sparse(String name, byte[] data, int[] segments, int[] columns, int... shape) {
    int order = SparsityParameters.createTraversalOrderVector(flat, new int[] {0, 1});
    DimensionMetadata.startDimensionMetadata(flat);
    DimensionMetadata.addFormat(flat, DimensionType.DENSE);
    DimensionMetadata.addDenseSize(flat, shape[0]);
    int rows = DimensionMetadata.endDimensionMetadata(flat);
    int starts =
        Int32Vector.createInt32Vector(flat, Int32Vector.createValuesVector(flat, segments));
    int stands =
        Uint8Vector.createUint8Vector(flat, Uint8Vector.createValuesVector(flat, bytes(columns)));
    DimensionMetadata.startDimensionMetadata(flat);
    DimensionMetadata.addFormat(flat, DimensionType.SPARSE_CSR);
    DimensionMetadata.addArraySegmentsType(flat, SparseIndexVector.Int32Vector);
    DimensionMetadata.addArraySegments(flat, starts);
    DimensionMetadata.addArrayIndicesType(flat, SparseIndexVector.Uint8Vector);
    DimensionMetadata.addArrayIndices(flat, stands);
    int inRow = DimensionMetadata.endDimensionMetadata(flat);
    int levels = SparsityParameters.createDimMetadataVector(flat, new int[] {rows, inRow});
    int sparsity = SparsityParameters.createSparsityParameters(flat, order, 0, levels);
    int buffer = buffer(data);
    int text = flat.createString(name);
    int dimensions = Tensor.createShapeVector(flat, shape);
    Tensor.startTensor(flat);
    Tensor.addName(flat, text);
    Tensor.addType(flat, TensorType.FLOAT32);
    Tensor.addShape(flat, dimensions);
    Tensor.addBuffer(flat, buffer);
    Tensor.addSparsity(flat, sparsity);
    tensors.add(Tensor.endTensor(flat));
    return tensors.size() - 1;
  }

  private static byte[] bytes(int... values) {
    byte[] bytes = new byte[values.length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) values[i];
    }
    return bytes;
  }

  /** A constant whose bytes stand elsewhere in the file. */
  int elsewhere(String name, byte type, long offset, long size, int... shape) {
    flat.startTable(3);
    flat.addLong(1, offset, 0);
    flat.addLong(2, size, 0);
    buffers.add(flat.endTable());
    return tensor(name, type, null, buffers.size() - 1, false, shape);
  }

  /** Lists the last tensor again and again: the file grows by four bytes each time. */
  void repeatLastTensor(int times) {
    int last = tensors.getLast();
    for (int i = 0; i < times; i++) {
      tensors.add(last);
    }
  }

  /** A constant tensor; its index. */
  int constant(String name, byte type, Quantized quantized, byte[] data, int... shape) {
    return tensor(name, type, quantized, buffer(data), false, shape);
  }

  /** A constant of zeros, as large as its shape says. */
  int zeros(String name, byte type, Quantized quantized, int... shape) {
    int count = 1;
    for (int dimension : shape) {
      count *= dimension;
    }
    return constant(name, type, quantized, new byte[count * size(type)], shape);
  }

  int ints(String name, int... values) {
    return constant(name, TensorType.INT32, null, intBytes(values), values.length);
  }

  /** A constant without dimensions. */
  int scalar(String name, int value) {
    return constant(name, TensorType.INT32, null, intBytes(value));
  }

  static byte[] intBytes(int... values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (int value : values) {
      bytes.putInt(value);
    }
    return bytes.array();
  }

  static byte[] floatBytes(float... values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    return bytes.array();
  }

  /**
   * A constant whose rows are scaled in blocks; computed where it has no data.
   *
   * @param scales the tensor of their scales
   * @param zeroPoints the tensor of their zero points; left out where it is negative
   * @param size of a block
   */
  int blocks(
      String name, byte type, byte[] data, int scales, int zeroPoints, int size, int... shape) {
    int buffer = data.length == 0 ? 0 : buffer(data);
    int text = flat.createString(name);
    int dimensions = Tensor.createShapeVector(flat, shape);
    // The generated classes are older: a table of three integers.
    flat.startTable(3);
    flat.addInt(0, scales, -1);
    if (zeroPoints >= 0) {
      flat.addInt(1, zeroPoints, -1);
    }
    flat.addInt(2, size, -1);
    int details = flat.endTable();
    QuantizationParameters.startQuantizationParameters(flat);
    QuantizationParameters.addDetailsType(flat, (byte) 2);
    QuantizationParameters.addDetails(flat, details);
    int quantization = QuantizationParameters.endQuantizationParameters(flat);
    Tensor.startTensor(flat);
    Tensor.addName(flat, text);
    Tensor.addType(flat, type);
    Tensor.addShape(flat, dimensions);
    Tensor.addBuffer(flat, buffer);
    Tensor.addQuantization(flat, quantization);
    tensors.add(Tensor.endTensor(flat));
    return tensors.size() - 1;
  }

  private static int size(byte type) {
    return switch (type) {
      case TensorType.FLOAT32, TensorType.INT32 -> 4;
      case TensorType.FLOAT16, TensorType.INT16 -> 2;
      case TensorType.INT64 -> 8;
      default -> 1;
    };
  }

  private int buffer(byte[] data) {
    // As the real writers do: data stand at multiples of 16.
    flat.startVector(1, data.length, 16);
    for (int i = data.length - 1; i >= 0; i--) {
      flat.addByte(data[i]);
    }
    int vector = flat.endVector();
    Buffer.startBuffer(flat);
    Buffer.addData(flat, vector);
    buffers.add(Buffer.endBuffer(flat));
    return buffers.size() - 1;
  }

  private int tensor(
      String name, byte type, Quantized quantized, int buffer, boolean variable, int... shape) {
    int text = flat.createString(name);
    int dimensions = Tensor.createShapeVector(flat, shape);
    int quantization = 0;
    if (quantized != null) {
      int scales = QuantizationParameters.createScaleVector(flat, quantized.scales());
      int zeroPoints = QuantizationParameters.createZeroPointVector(flat, quantized.zeroPoints());
      QuantizationParameters.startQuantizationParameters(flat);
      QuantizationParameters.addScale(flat, scales);
      QuantizationParameters.addZeroPoint(flat, zeroPoints);
      QuantizationParameters.addQuantizedDimension(flat, quantized.dimension());
      quantization = QuantizationParameters.endQuantizationParameters(flat);
    }
    Tensor.startTensor(flat);
    Tensor.addName(flat, text);
    Tensor.addType(flat, type);
    Tensor.addShape(flat, dimensions);
    Tensor.addBuffer(flat, buffer);
    Tensor.addIsVariable(flat, variable);
    if (quantized != null) {
      Tensor.addQuantization(flat, quantization);
    }
    tensors.add(Tensor.endTensor(flat));
    return tensors.size() - 1;
  }

  /** An operator without settings. */
  TfliteFileBuilder operator(int code, int[] inputs, int... outputs) {
    return operator(code, BuiltinOptions.NONE, builder -> 0, inputs, outputs);
  }

  /** An operator with settings. */
  TfliteFileBuilder operator(
      int code,
      byte optionsType,
      ToIntFunction<FlatBufferBuilder> options,
      int[] inputs,
      int... outputs) {
    int settings = options.applyAsInt(flat);
    return add(code(code, ""), optionsType, settings, 0, new int[0], inputs, outputs);
  }

  /** A call of graph 1 before the first run. */
  void callOnce() {
    operator(
        BuiltinOperator.CALL_ONCE,
        BuiltinOptions.CallOnceOptions,
        builder -> CallOnceOptions.createCallOnceOptions(builder, 1),
        new int[0]);
  }

  /** An IF by two graphs of the file; the first input is the condition. */
  TfliteFileBuilder branch(int then, int otherwise, int[] inputs, int... outputs) {
    return operator(
        BuiltinOperator.IF,
        BuiltinOptions.IfOptions,
        flat -> IfOptions.createIfOptions(flat, then, otherwise),
        inputs,
        outputs);
  }

  /** A WHILE by two graphs of the file. */
  TfliteFileBuilder loop(int condition, int body, int[] inputs, int... outputs) {
    return operator(
        BuiltinOperator.WHILE,
        BuiltinOptions.WhileOptions,
        flat -> WhileOptions.createWhileOptions(flat, condition, body),
        inputs,
        outputs);
  }

  /** An operator with tensors that carry only quantization. */
  TfliteFileBuilder operatorWithIntermediates(
      int code,
      byte optionsType,
      ToIntFunction<FlatBufferBuilder> options,
      int[] intermediates,
      int[] inputs,
      int... outputs) {
    int settings = options.applyAsInt(flat);
    return add(code(code, ""), optionsType, settings, 0, intermediates, inputs, outputs);
  }

  TfliteFileBuilder custom(String name, byte[] settings, int[] inputs, int... outputs) {
    int vector = Operator.createCustomOptionsVector(flat, settings);
    return add(
        code(BuiltinOperator.CUSTOM, name),
        BuiltinOptions.NONE,
        0,
        vector,
        new int[0],
        inputs,
        outputs);
  }

  /** A STABLEHLO_COMPOSITE, which the generated classes do not know, for a graph of the file. */
  TfliteFileBuilder composite(int graph, int[] inputs, int... outputs) {
    flat.startTable(2);
    flat.addInt(1, graph, 0);
    int settings = flat.endTable();
    int in = Operator.createInputsVector(flat, inputs);
    int out = Operator.createOutputsVector(flat, outputs);
    int code = code(206, "");
    flat.startTable(13);
    Operator.addOpcodeIndex(flat, code);
    Operator.addInputs(flat, in);
    Operator.addOutputs(flat, out);
    flat.addByte(11, (byte) 21, 0);
    flat.addOffset(12, settings, 0);
    operators.add(flat.endTable());
    return this;
  }

  private int code(int code, String customName) {
    int text = customName.isEmpty() ? 0 : flat.createString(customName);
    OperatorCode.startOperatorCode(flat);
    OperatorCode.addDeprecatedBuiltinCode(flat, (byte) Math.min(code, 127));
    OperatorCode.addBuiltinCode(flat, code);
    if (!customName.isEmpty()) {
      OperatorCode.addCustomCode(flat, text);
    }
    codes.add(OperatorCode.endOperatorCode(flat));
    return codes.size() - 1;
  }

  private TfliteFileBuilder add(
      int code,
      byte optionsType,
      int options,
      int customOptions,
      int[] intermediates,
      int[] inputs,
      int[] outputs) {
    int in = Operator.createInputsVector(flat, inputs);
    int out = Operator.createOutputsVector(flat, outputs);
    int between = Operator.createIntermediatesVector(flat, intermediates);
    Operator.startOperator(flat);
    Operator.addOpcodeIndex(flat, code);
    Operator.addInputs(flat, in);
    Operator.addOutputs(flat, out);
    Operator.addIntermediates(flat, between);
    if (optionsType != BuiltinOptions.NONE) {
      Operator.addBuiltinOptionsType(flat, optionsType);
      Operator.addBuiltinOptions(flat, options);
    }
    if (customOptions != 0) {
      Operator.addCustomOptions(flat, customOptions);
    }
    operators.add(Operator.endOperator(flat));
    return this;
  }

  /** Ends a graph; what follows belongs to the next. */
  TfliteFileBuilder graph(int[] inputs, int... outputs) {
    int tensorVector = SubGraph.createTensorsVector(flat, array(tensors));
    int operatorVector = SubGraph.createOperatorsVector(flat, array(operators));
    int in = SubGraph.createInputsVector(flat, inputs);
    int out = SubGraph.createOutputsVector(flat, outputs);
    SubGraph.startSubGraph(flat);
    SubGraph.addTensors(flat, tensorVector);
    SubGraph.addOperators(flat, operatorVector);
    SubGraph.addInputs(flat, in);
    SubGraph.addOutputs(flat, out);
    graphs.add(SubGraph.endSubGraph(flat));
    tensors = new ArrayList<>();
    operators = new ArrayList<>();
    return this;
  }

  TfliteFileBuilder metadata(String name, byte[] data) {
    int text = flat.createString(name);
    int buffer = buffer(data);
    Metadata.startMetadata(flat);
    Metadata.addName(flat, text);
    Metadata.addBuffer(flat, buffer);
    metadata.add(Metadata.endMetadata(flat));
    return this;
  }

  /** The bytes of the file. */
  byte[] build() {
    int description = flat.createString("made for a test");
    int bufferVector = Model.createBuffersVector(flat, array(buffers));
    int codeVector = Model.createOperatorCodesVector(flat, array(codes));
    int graphVector = Model.createSubgraphsVector(flat, array(graphs));
    int metadataVector = Model.createMetadataVector(flat, array(metadata));
    int signatureVector = Model.createSignatureDefsVector(flat, array(signatures));
    Model.startModel(flat);
    Model.addVersion(flat, 3);
    Model.addDescription(flat, description);
    Model.addBuffers(flat, bufferVector);
    Model.addOperatorCodes(flat, codeVector);
    Model.addSubgraphs(flat, graphVector);
    Model.addMetadata(flat, metadataVector);
    Model.addSignatureDefs(flat, signatureVector);
    Model.finishModelBuffer(flat, Model.endModel(flat));
    return flat.sizedByteArray();
  }

  private static int[] array(List<Integer> values) {
    return values.stream().mapToInt(Integer::intValue).toArray();
  }
}
