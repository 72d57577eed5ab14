// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import com.google.flatbuffers.FlatBufferBuilder;
import io.thalamus.benchmarks.network.Network.Activation;
import io.thalamus.benchmarks.network.Network.Add;
import io.thalamus.benchmarks.network.Network.Attention;
import io.thalamus.benchmarks.network.Network.Concatenation;
import io.thalamus.benchmarks.network.Network.Gelu;
import io.thalamus.benchmarks.network.Network.GlobalAverage;
import io.thalamus.benchmarks.network.Network.Layer;
import io.thalamus.benchmarks.network.Network.Logistic;
import io.thalamus.benchmarks.network.Network.MaxPool;
import io.thalamus.benchmarks.network.Network.Normalization;
import io.thalamus.benchmarks.network.Network.Product;
import io.thalamus.benchmarks.network.Network.Size;
import io.thalamus.benchmarks.network.Network.Softmax;
import io.thalamus.benchmarks.network.Network.Weighted;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.AddOptions;
import org.tensorflow.lite.schema.BatchMatMulOptions;
import org.tensorflow.lite.schema.Buffer;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.ConcatenationOptions;
import org.tensorflow.lite.schema.Conv2DOptions;
import org.tensorflow.lite.schema.DepthwiseConv2DOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.FullyConnectedOptionsWeightsFormat;
import org.tensorflow.lite.schema.GeluOptions;
import org.tensorflow.lite.schema.Model;
import org.tensorflow.lite.schema.MulOptions;
import org.tensorflow.lite.schema.Operator;
import org.tensorflow.lite.schema.OperatorCode;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.Pool2DOptions;
import org.tensorflow.lite.schema.QuantizationParameters;
import org.tensorflow.lite.schema.ReducerOptions;
import org.tensorflow.lite.schema.SoftmaxOptions;
import org.tensorflow.lite.schema.SubGraph;
import org.tensorflow.lite.schema.SubOptions;
import org.tensorflow.lite.schema.Tensor;
import org.tensorflow.lite.schema.TensorType;

/** Writes a network as a {@code .tflite} file. Not thread-safe: one object writes one file. */
public final class TfliteFile {
  private static final int SCHEMA_VERSION = 3;

  /** Readers may use data in place, so TensorFlow Lite asks for an alignment of 16 bytes. */
  private static final int ALIGNMENT = 16;

  private static final int SPARE = 1 << 20;

  /** The axis of channels in a picture. */
  private static final int CHANNELS = 3;

  private final FlatBufferBuilder out;
  private final Network network;
  private final List<Integer> tensors = new ArrayList<>();
  private final List<Integer> buffers = new ArrayList<>();
  private final List<Integer> operators = new ArrayList<>();
  private final Map<Integer, Integer> codes = new LinkedHashMap<>();
  private final int[] tensorOf;

  /** Null in a file of floats. */
  private final Quantization quantization;

  private TfliteFile(Network network) {
    this.network = network;
    this.tensorOf = new int[network.layers().size() + 1];
    this.quantization = network.isQuantized() ? new Quantization(network) : null;
    long weights =
        network.layers().stream()
            .mapToLong(layer -> layer instanceof Weighted w ? w.weights().length : 0)
            .sum();
    out = new FlatBufferBuilder(Math.toIntExact(weights * Float.BYTES + SPARE));
  }

  /** Writes {@code network} to {@code file}, which must not exist. */
  public static void write(Network network, Path file) throws IOException {
    TfliteFile writer = new TfliteFile(network);
    writer.build();
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      var bytes = writer.out.dataBuffer();
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
    }
  }

  private void build() {
    Buffer.startBuffer(out); // buffer 0 is empty and shared by every tensor without data
    buffers.add(Buffer.endBuffer(out));
    int input = tensor("input", 0, network.input().shape());
    tensorOf[0] = input;
    if (quantization != null) {
      operator(0, BuiltinOperator.QUANTIZE, BuiltinOptions.NONE, 0, input);
    }
    for (int i = 0; i < network.layers().size(); i++) {
      layer(i + 1, network.layers().get(i));
    }
    int output = tensorOf[tensorOf.length - 1];
    if (quantization != null) {
      int[] shape = network.output().shape();
      output = inner(shape, BuiltinOperator.DEQUANTIZE, BuiltinOptions.NONE, 0, output);
    }
    int tensorVector = SubGraph.createTensorsVector(out, ints(tensors));
    int inputVector = SubGraph.createInputsVector(out, new int[] {input});
    int outputVector = SubGraph.createOutputsVector(out, new int[] {output});
    int operatorVector = SubGraph.createOperatorsVector(out, ints(operators));
    int name = out.createString(network.name());
    int graph =
        SubGraph.createSubGraph(out, tensorVector, inputVector, outputVector, operatorVector, name);
    List<Integer> codeTables = new ArrayList<>();
    for (int code : codes.keySet()) {
      byte old = (byte) Math.min(code, BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES);
      codeTables.add(OperatorCode.createOperatorCode(out, old, 0, 1, code));
    }
    int codeVector = Model.createOperatorCodesVector(out, ints(codeTables));
    int graphVector = Model.createSubgraphsVector(out, new int[] {graph});
    int description = out.createString(network.name() + " with random weights");
    int bufferVector = Model.createBuffersVector(out, ints(buffers));
    Model.finishModelBuffer(
        out,
        Model.createModel(
            out, SCHEMA_VERSION, codeVector, graphVector, description, bufferVector, 0, 0, 0));
  }

  private void layer(int value, Layer layer) {
    switch (layer) {
      case Weighted weighted -> weighted(value, weighted);
      case MaxPool pool ->
          operator(
              value,
              BuiltinOperator.MAX_POOL_2D,
              BuiltinOptions.Pool2DOptions,
              Pool2DOptions.createPool2DOptions(
                  out,
                  Padding.SAME,
                  pool.stride(),
                  pool.stride(),
                  pool.kernel(),
                  pool.kernel(),
                  ActivationFunctionType.NONE),
              tensorOf[pool.from()]);
      case GlobalAverage average ->
          operator(
              value,
              BuiltinOperator.MEAN,
              BuiltinOptions.ReducerOptions,
              ReducerOptions.createReducerOptions(out, true),
              tensorOf[average.from()],
              constant(1, 2));
      case Add add ->
          operator(
              value,
              BuiltinOperator.ADD,
              BuiltinOptions.AddOptions,
              AddOptions.createAddOptions(out, activation(add.activation()), false),
              tensorOf[add.first()],
              tensorOf[add.second()]);
      case Product product ->
          operator(
              value,
              BuiltinOperator.MUL,
              BuiltinOptions.MulOptions,
              MulOptions.createMulOptions(out, ActivationFunctionType.NONE),
              tensorOf[product.first()],
              tensorOf[product.second()]);
      case Logistic logistic ->
          operator(
              value, BuiltinOperator.LOGISTIC, BuiltinOptions.NONE, 0, tensorOf[logistic.from()]);
      case Gelu gelu ->
          operator(
              value,
              BuiltinOperator.GELU,
              BuiltinOptions.GeluOptions,
              GeluOptions.createGeluOptions(out, false),
              tensorOf[gelu.from()]);
      case Normalization normalization -> normalization(value, normalization);
      case Attention attention -> attention(value, attention);
      case Concatenation joined ->
          operator(
              value,
              BuiltinOperator.CONCATENATION,
              BuiltinOptions.ConcatenationOptions,
              ConcatenationOptions.createConcatenationOptions(
                  out, CHANNELS, ActivationFunctionType.NONE),
              tensorOf[joined.first()],
              tensorOf[joined.second()]);
      case Softmax softmax ->
          operator(
              value,
              BuiltinOperator.SOFTMAX,
              BuiltinOptions.SoftmaxOptions,
              SoftmaxOptions.createSoftmaxOptions(out, 1),
              tensorOf[softmax.from()]);
    }
  }

  private void weighted(int value, Weighted layer) {
    Size from = network.size(layer.from());
    int channels = layer.size().channels();
    int k = layer.kernel();
    int[] shape =
        switch (layer.kind()) {
          case CONVOLUTION -> new int[] {channels, k, k, from.channels()};
          case DEPTHWISE -> new int[] {1, k, k, channels};
          case DENSE -> new int[] {channels, layer.weights().length / channels};
        };
    int weights;
    int bias;
    if (quantization == null) {
      weights = tensor("weights_" + value, buffer(layer.weights()), shape);
      bias = tensor("bias_" + value, buffer(layer.bias()), channels);
    } else {
      int axis = layer.kind() == Weighted.Kind.DEPTHWISE ? CHANNELS : 0;
      weights =
          tensor(
              "weights_" + value,
              buffer(ByteBuffer.wrap(Quantization.weights(layer))),
              TensorType.INT8,
              steps(Quantization.scales(layer), 0, axis),
              shape);
      bias =
          tensor(
              "bias_" + value,
              buffer(quantization.bias(layer)),
              TensorType.INT32,
              steps(quantization.biasScales(layer), 0, 0),
              channels);
    }
    byte activation = activation(layer.activation());
    int stride = layer.stride();
    int[] reads = {tensorOf[layer.from()], weights, bias};
    switch (layer.kind()) {
      case CONVOLUTION ->
          operator(
              value,
              BuiltinOperator.CONV_2D,
              BuiltinOptions.Conv2DOptions,
              Conv2DOptions.createConv2DOptions(
                  out, Padding.SAME, stride, stride, activation, 1, 1),
              reads);
      case DEPTHWISE ->
          operator(
              value,
              BuiltinOperator.DEPTHWISE_CONV_2D,
              BuiltinOptions.DepthwiseConv2DOptions,
              DepthwiseConv2DOptions.createDepthwiseConv2DOptions(
                  out, Padding.SAME, stride, stride, 1, activation, 1, 1),
              reads);
      case DENSE ->
          operator(
              value,
              BuiltinOperator.FULLY_CONNECTED,
              BuiltinOptions.FullyConnectedOptions,
              FullyConnectedOptions.createFullyConnectedOptions(
                  out,
                  activation,
                  FullyConnectedOptionsWeightsFormat.DEFAULT,
                  from.form() == Network.Form.ROWS,
                  false),
              reads);
    }
  }

  private static byte activation(Activation activation) {
    return switch (activation) {
      case NONE -> ActivationFunctionType.NONE;
      case RELU -> ActivationFunctionType.RELU;
      case RELU6 -> ActivationFunctionType.RELU6;
    };
  }

  /** As TensorFlow normalizes: the scale by the deviation, and a shift less the scaled mean. */
  private void normalization(int value, Normalization layer) {
    int from = tensorOf[layer.from()];
    int rows = layer.size().height();
    int[] row = {1, rows, 1};
    int[] all = layer.size().shape();
    int mean = mean(from, row);
    int square = inner(all, BuiltinOperator.SQUARED_DIFFERENCE, BuiltinOptions.NONE, 0, from, mean);
    int epsilon = tensor("epsilon_" + value, buffer(new float[] {Normalization.EPSILON}));
    int variance = sum(row, mean(square, row), epsilon);
    int inverse = inner(row, BuiltinOperator.RSQRT, BuiltinOptions.NONE, 0, variance);
    int channels = layer.size().channels();
    int scale = product(all, inverse, tensor("scale_" + value, buffer(layer.scale()), channels));
    int shift =
        inner(
            all,
            BuiltinOperator.SUB,
            BuiltinOptions.SubOptions,
            SubOptions.createSubOptions(out, ActivationFunctionType.NONE, false),
            tensor("shift_" + value, buffer(layer.shift()), channels),
            product(all, mean, scale));
    tensorOf[value] = sum(all, product(all, from, scale), shift);
  }

  private int mean(int from, int... shape) {
    return inner(
        shape,
        BuiltinOperator.MEAN,
        BuiltinOptions.ReducerOptions,
        ReducerOptions.createReducerOptions(out, true),
        from,
        constant(2));
  }

  private int sum(int[] shape, int first, int second) {
    return inner(
        shape,
        BuiltinOperator.ADD,
        BuiltinOptions.AddOptions,
        AddOptions.createAddOptions(out, ActivationFunctionType.NONE, false),
        first,
        second);
  }

  private int product(int[] shape, int first, int second) {
    return inner(
        shape,
        BuiltinOperator.MUL,
        BuiltinOptions.MulOptions,
        MulOptions.createMulOptions(out, ActivationFunctionType.NONE),
        first,
        second);
  }

  private void attention(int value, Attention layer) {
    int rows = layer.size().height();
    int heads = layer.heads();
    int[] square = {1, heads, rows, rows};
    int root =
        tensor("root_" + value, buffer(new float[] {1 / (float) Math.sqrt(layer.headSize())}));
    int products =
        matrices(square, heads(layer.queries(), layer), heads(layer.keys(), layer), true);
    int shares =
        inner(
            square,
            BuiltinOperator.SOFTMAX,
            BuiltinOptions.SoftmaxOptions,
            SoftmaxOptions.createSoftmaxOptions(out, 1),
            product(square, products, root));
    int[] split = {1, heads, rows, layer.headSize()};
    int mixed = matrices(split, shares, heads(layer.values(), layer), false);
    int joined = transposed(mixed, 1, rows, heads, layer.headSize());
    tensorOf[value] = reshaped(joined, layer.size().shape());
  }

  private int matrices(int[] shape, int first, int second, boolean isSecondTransposed) {
    return inner(
        shape,
        BuiltinOperator.BATCH_MATMUL,
        BuiltinOptions.BatchMatMulOptions,
        BatchMatMulOptions.createBatchMatMulOptions(out, false, isSecondTransposed, false),
        first,
        second);
  }

  /** The rows of each head of a value. */
  private int heads(int value, Attention layer) {
    int rows = layer.size().height();
    int split = reshaped(tensorOf[value], 1, rows, layer.heads(), layer.headSize());
    return transposed(split, 1, layer.heads(), rows, layer.headSize());
  }

  private int reshaped(int from, int... shape) {
    return inner(shape, BuiltinOperator.RESHAPE, BuiltinOptions.NONE, 0, from, constant(shape));
  }

  /** The dimensions in the middle change places. */
  private int transposed(int from, int... shape) {
    return inner(
        shape, BuiltinOperator.TRANSPOSE, BuiltinOptions.NONE, 0, from, constant(0, 2, 1, 3));
  }

  /** Adds what computes a value of the network. */
  private void operator(int value, int code, byte optionsType, int options, int... inputs) {
    int[] shape = network.size(value).shape();
    String name = "value_" + value;
    if (quantization == null) {
      tensorOf[value] = tensor(name, 0, shape);
    } else {
      Quantization.Parameters parameters = quantization.parameters(value);
      float[] scale = {parameters.scale()};
      tensorOf[value] =
          tensor(name, 0, TensorType.INT8, steps(scale, parameters.zeroPoint(), 0), shape);
    }
    write(tensorOf[value], code, optionsType, options, inputs);
  }

  /** Adds what computes a part of a layer, as floats. */
  private int inner(int[] shape, int code, byte optionsType, int options, int... inputs) {
    int output = tensor("part_" + tensors.size(), 0, shape);
    write(output, code, optionsType, options, inputs);
    return output;
  }

  private void write(int output, int code, byte optionsType, int options, int... inputs) {
    int index = codes.computeIfAbsent(code, absent -> codes.size());
    int inputVector = Operator.createInputsVector(out, inputs);
    int outputVector = Operator.createOutputsVector(out, new int[] {output});
    operators.add(
        Operator.createOperator(
            out, index, inputVector, outputVector, optionsType, options, 0, (byte) 0, 0, 0));
  }

  private int tensor(String name, int buffer, int... shape) {
    return tensor(name, buffer, TensorType.FLOAT32, 0, shape);
  }

  private int tensor(String name, int buffer, byte type, int steps, int... shape) {
    int shapeVector = Tensor.createShapeVector(out, shape);
    int text = out.createString(name);
    tensors.add(
        Tensor.createTensor(out, shapeVector, type, buffer, text, steps, false, 0, 0, false, 0));
    return tensors.size() - 1;
  }

  /** Writes the scales and the zero point of a tensor. */
  private int steps(float[] scales, int zeroPoint, int axis) {
    long[] zeroPoints = new long[scales.length];
    Arrays.fill(zeroPoints, zeroPoint);
    int scaleVector = QuantizationParameters.createScaleVector(out, scales);
    int zeroPointVector = QuantizationParameters.createZeroPointVector(out, zeroPoints);
    return QuantizationParameters.createQuantizationParameters(
        out, 0, 0, scaleVector, zeroPointVector, (byte) 0, 0, axis);
  }

  /** Numbers of a shape or of axes. */
  private int constant(int... values) {
    return tensor("numbers_" + tensors.size(), buffer(values), TensorType.INT32, 0, values.length);
  }

  private int buffer(float[] values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length * Float.BYTES);
    bytes.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().put(values);
    return buffer(bytes);
  }

  private int buffer(int[] values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length * Integer.BYTES);
    bytes.order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().put(values);
    return buffer(bytes);
  }

  private int buffer(ByteBuffer values) {
    out.createUnintializedVector(1, values.remaining(), ALIGNMENT).put(values);
    buffers.add(Buffer.createBuffer(out, out.endVector()));
    return buffers.size() - 1;
  }

  private static int[] ints(List<Integer> values) {
    return values.stream().mapToInt(Integer::intValue).toArray();
  }
}
