// SPDX-License-Identifier: Apache-2.0

import com.google.flatbuffers.FlatBufferBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.Buffer;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.Conv2DOptions;
import org.tensorflow.lite.schema.DepthwiseConv2DOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.FullyConnectedOptionsWeightsFormat;
import org.tensorflow.lite.schema.Model;
import org.tensorflow.lite.schema.Operator;
import org.tensorflow.lite.schema.OperatorCode;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.Pool2DOptions;
import org.tensorflow.lite.schema.QuantizationParameters;
import org.tensorflow.lite.schema.SoftmaxOptions;
import org.tensorflow.lite.schema.SubGraph;
import org.tensorflow.lite.schema.Tensor;
import org.tensorflow.lite.schema.TensorType;

/**
 * Writes the quantized network that quantize.py dumped (model.txt, weights.bin) as a .tflite file.
 *
 * <p>Usage: {@code java --class-path JARS TfliteWriter.java DUMP_DIRECTORY FILE.tflite}. It knows
 * the five operators of the sample and nothing else. Not thread-safe: one object writes one file.
 */
final class TfliteWriter {
  private static final int SCHEMA_VERSION = 3;

  /** The five operators as the file knows them: code, least version for int8, options table. */
  private enum Kind {
    CONV_2D(BuiltinOperator.CONV_2D, 3, BuiltinOptions.Conv2DOptions),
    DEPTHWISE_CONV_2D(BuiltinOperator.DEPTHWISE_CONV_2D, 3, BuiltinOptions.DepthwiseConv2DOptions),
    MAX_POOL_2D(BuiltinOperator.MAX_POOL_2D, 2, BuiltinOptions.Pool2DOptions),
    FULLY_CONNECTED(BuiltinOperator.FULLY_CONNECTED, 4, BuiltinOptions.FullyConnectedOptions),
    SOFTMAX(BuiltinOperator.SOFTMAX, 2, BuiltinOptions.SoftmaxOptions);

    final int code;
    final int version;
    final byte options;

    Kind(int code, int version, byte options) {
      this.code = code;
      this.version = version;
      this.options = options;
    }
  }

  private final FlatBufferBuilder out = new FlatBufferBuilder(1 << 16);
  private final byte[] weights;
  private final Map<String, Integer> numbers = new LinkedHashMap<>();
  private final Map<Kind, Integer> codes = new LinkedHashMap<>();
  private final List<Integer> tensors = new ArrayList<>();
  private final List<Integer> buffers = new ArrayList<>();
  private final List<Integer> operators = new ArrayList<>();
  private String lastOutput = "";

  private TfliteWriter(byte[] weights) {
    this.weights = weights;
  }

  public static void main(String[] arguments) throws IOException {
    if (arguments.length != 2) {
      System.err.println("usage: TfliteWriter.java DUMP_DIRECTORY FILE.tflite");
      System.exit(2);
    }
    Path dump = Path.of(arguments[0]);
    var writer = new TfliteWriter(Files.readAllBytes(dump.resolve("weights.bin")));
    byte[] file = writer.write(Files.readAllLines(dump.resolve("model.txt")));
    Files.write(Path.of(arguments[1]), file);
    System.out.println(arguments[1] + ": " + file.length + " bytes");
  }

  private byte[] write(List<String> lines) {
    // By convention buffer 0 is empty and shared by every tensor without data.
    buffers.add(emptyBuffer());
    for (String line : lines) {
      String[] words = line.split(" ");
      switch (words[0]) {
        case "tensor" -> tensor(words);
        case "operator" -> operator(words);
        default -> throw new IllegalArgumentException("model.txt: unknown line: " + line);
      }
    }
    int tensorVector = SubGraph.createTensorsVector(out, ints(tensors));
    int inputVector = SubGraph.createInputsVector(out, new int[] {0});
    int outputVector = SubGraph.createOutputsVector(out, new int[] {numbers.get(lastOutput)});
    int operatorVector = SubGraph.createOperatorsVector(out, ints(operators));
    int name = out.createString("digits");
    int graph =
        SubGraph.createSubGraph(out, tensorVector, inputVector, outputVector, operatorVector, name);

    List<Integer> codeTables = new ArrayList<>();
    for (Kind kind : codes.keySet()) {
      codeTables.add(
          OperatorCode.createOperatorCode(out, (byte) kind.code, 0, kind.version, kind.code));
    }
    int codeVector = Model.createOperatorCodesVector(out, ints(codeTables));
    int graphVector = Model.createSubgraphsVector(out, new int[] {graph});
    int description = out.createString("Handwritten digits, trained on drawn strokes");
    int bufferVector = Model.createBuffersVector(out, ints(buffers));
    int model =
        Model.createModel(
            out, SCHEMA_VERSION, codeVector, graphVector, description, bufferVector, 0, 0, 0);
    Model.finishModelBuffer(out, model);
    return out.sizedByteArray();
  }

  private int emptyBuffer() {
    Buffer.startBuffer(out);
    return Buffer.endBuffer(out);
  }

  private void tensor(String[] words) {
    byte type =
        switch (words[2]) {
          case "INT8" -> TensorType.INT8;
          case "INT32" -> TensorType.INT32;
          default -> throw new IllegalArgumentException("model.txt: unknown type " + words[2]);
        };
    int offset = Integer.parseInt(words[7]);
    int buffer = 0;
    if (offset >= 0) {
      buffer = buffers.size();
      buffers.add(buffer(offset, Integer.parseInt(words[8])));
    }
    String[] scales = words[4].split(",");
    float[] scale = new float[scales.length];
    for (int i = 0; i < scales.length; i++) {
      scale[i] = Float.parseFloat(scales[i]);
    }
    long[] zeroPoint = new long[scale.length];
    Arrays.fill(zeroPoint, Long.parseLong(words[5]));
    int scaleVector = QuantizationParameters.createScaleVector(out, scale);
    int zeroVector = QuantizationParameters.createZeroPointVector(out, zeroPoint);
    int quantization =
        QuantizationParameters.createQuantizationParameters(
            out, 0, 0, scaleVector, zeroVector, (byte) 0, 0, Integer.parseInt(words[6]));
    int[] sizes = Arrays.stream(words[3].split(",")).mapToInt(Integer::parseInt).toArray();
    int shape = Tensor.createShapeVector(out, sizes);
    int name = out.createString(words[1]);
    numbers.put(words[1], tensors.size());
    tensors.add(
        Tensor.createTensor(out, shape, type, buffer, name, quantization, false, 0, 0, false, 0));
  }

  /** Readers may use the data in place, so TensorFlow Lite asks for an alignment of 16 bytes. */
  private int buffer(int offset, int length) {
    out.startVector(1, length, 16);
    for (int i = length - 1; i >= 0; i--) {
      out.addByte(weights[offset + i]);
    }
    int data = out.endVector();
    return Buffer.createBuffer(out, data);
  }

  private void operator(String[] words) {
    Kind kind = Kind.valueOf(words[1]);
    int[] inputs = Arrays.stream(words[2].split(",")).mapToInt(numbers::get).toArray();
    lastOutput = words[3];
    byte padding = words[4].equals("SAME") ? Padding.SAME : Padding.VALID;
    byte activation =
        words[5].equals("RELU") ? ActivationFunctionType.RELU : ActivationFunctionType.NONE;
    int options =
        switch (kind) {
          case CONV_2D -> Conv2DOptions.createConv2DOptions(out, padding, 1, 1, activation, 1, 1);
          case DEPTHWISE_CONV_2D ->
              DepthwiseConv2DOptions.createDepthwiseConv2DOptions(
                  out, padding, 1, 1, 1, activation, 1, 1);
          case MAX_POOL_2D ->
              Pool2DOptions.createPool2DOptions(out, padding, 2, 2, 2, 2, activation);
          case FULLY_CONNECTED ->
              FullyConnectedOptions.createFullyConnectedOptions(
                  out, activation, FullyConnectedOptionsWeightsFormat.DEFAULT, false, false);
          case SOFTMAX -> SoftmaxOptions.createSoftmaxOptions(out, 1.0f);
        };
    int code = codes.computeIfAbsent(kind, absent -> codes.size());
    int inputVector = Operator.createInputsVector(out, inputs);
    int outputVector = Operator.createOutputsVector(out, new int[] {numbers.get(lastOutput)});
    operators.add(
        Operator.createOperator(
            out, code, inputVector, outputVector, kind.options, options, 0, (byte) 0, 0, 0));
  }

  private static int[] ints(List<Integer> values) {
    return values.stream().mapToInt(Integer::intValue).toArray();
  }
}
