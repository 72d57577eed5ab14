// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import com.google.flatbuffers.FlatBufferBuilder;
import io.thalamus.benchmarks.network.Network.Activation;
import io.thalamus.benchmarks.network.Network.Add;
import io.thalamus.benchmarks.network.Network.Concatenation;
import io.thalamus.benchmarks.network.Network.GlobalAverage;
import io.thalamus.benchmarks.network.Network.Layer;
import io.thalamus.benchmarks.network.Network.Logistic;
import io.thalamus.benchmarks.network.Network.MaxPool;
import io.thalamus.benchmarks.network.Network.Product;
import io.thalamus.benchmarks.network.Network.Size;
import io.thalamus.benchmarks.network.Network.Softmax;
import io.thalamus.benchmarks.network.Network.Weighted;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.tensorflow.lite.schema.ActivationFunctionType;
import org.tensorflow.lite.schema.AddOptions;
import org.tensorflow.lite.schema.Buffer;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.ConcatenationOptions;
import org.tensorflow.lite.schema.Conv2DOptions;
import org.tensorflow.lite.schema.DepthwiseConv2DOptions;
import org.tensorflow.lite.schema.FullyConnectedOptions;
import org.tensorflow.lite.schema.FullyConnectedOptionsWeightsFormat;
import org.tensorflow.lite.schema.Model;
import org.tensorflow.lite.schema.MulOptions;
import org.tensorflow.lite.schema.Operator;
import org.tensorflow.lite.schema.OperatorCode;
import org.tensorflow.lite.schema.Padding;
import org.tensorflow.lite.schema.Pool2DOptions;
import org.tensorflow.lite.schema.SoftmaxOptions;
import org.tensorflow.lite.schema.SubGraph;
import org.tensorflow.lite.schema.Tensor;
import org.tensorflow.lite.schema.TensorType;

/** Writes a network as a {@code .tflite} file. Not thread-safe: one object writes one file. */
public final class TfliteFile {
  private static final int SCHEMA_VERSION = 3;

  /** Readers may use data in place, so TensorFlow Lite asks for an alignment of 16 bytes. */
  private static final int ALIGNMENT = 16;

  private static final int SPARE = 1 << 20;

  /** The axis of channels. */
  private static final int CHANNELS = 3;

  private final FlatBufferBuilder out;
  private final Network network;
  private final List<Integer> tensors = new ArrayList<>();
  private final List<Integer> buffers = new ArrayList<>();
  private final List<Integer> operators = new ArrayList<>();
  private final Map<Integer, Integer> codes = new LinkedHashMap<>();
  private final int[] tensorOf;

  private TfliteFile(Network network) {
    this.network = network;
    this.tensorOf = new int[network.layers().size() + 1];
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
    Size input = network.input();
    tensorOf[0] = tensor("input", 0, 1, input.height(), input.width(), input.channels());
    for (int i = 0; i < network.layers().size(); i++) {
      layer(i + 1, network.layers().get(i));
    }
    int tensorVector = SubGraph.createTensorsVector(out, ints(tensors));
    int inputVector = SubGraph.createInputsVector(out, new int[] {tensorOf[0]});
    int outputVector = SubGraph.createOutputsVector(out, new int[] {tensorOf[tensorOf.length - 1]});
    int operatorVector = SubGraph.createOperatorsVector(out, ints(operators));
    int name = out.createString(network.name());
    int graph =
        SubGraph.createSubGraph(out, tensorVector, inputVector, outputVector, operatorVector, name);
    List<Integer> codeTables = new ArrayList<>();
    for (int code : codes.keySet()) {
      codeTables.add(OperatorCode.createOperatorCode(out, (byte) code, 0, 1, code));
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
              BuiltinOperator.AVERAGE_POOL_2D,
              BuiltinOptions.Pool2DOptions,
              Pool2DOptions.createPool2DOptions(
                  out,
                  Padding.VALID,
                  1,
                  1,
                  average.width(),
                  average.height(),
                  ActivationFunctionType.NONE),
              tensorOf[average.from()]);
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
          case DENSE -> new int[] {channels, from.elements()};
        };
    int weights = tensor("weights_" + value, buffer(layer.weights()), shape);
    int bias = tensor("bias_" + value, buffer(layer.bias()), channels);
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
                  out, activation, FullyConnectedOptionsWeightsFormat.DEFAULT, false, false),
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

  private void operator(int value, int code, byte optionsType, int options, int... inputs) {
    Size size = network.size(value);
    boolean flat = network.isFlat(value);
    tensorOf[value] =
        flat
            ? tensor("value_" + value, 0, 1, size.channels())
            : tensor("value_" + value, 0, 1, size.height(), size.width(), size.channels());
    int index = codes.computeIfAbsent(code, absent -> codes.size());
    int inputVector = Operator.createInputsVector(out, inputs);
    int outputVector = Operator.createOutputsVector(out, new int[] {tensorOf[value]});
    operators.add(
        Operator.createOperator(
            out, index, inputVector, outputVector, optionsType, options, 0, (byte) 0, 0, 0));
  }

  private int tensor(String name, int buffer, int... shape) {
    int shapeVector = Tensor.createShapeVector(out, shape);
    int text = out.createString(name);
    tensors.add(
        Tensor.createTensor(
            out, shapeVector, TensorType.FLOAT32, buffer, text, 0, false, 0, 0, false, 0));
    return tensors.size() - 1;
  }

  private int buffer(float[] values) {
    out.createUnintializedVector(1, values.length * Float.BYTES, ALIGNMENT)
        .asFloatBuffer()
        .put(values);
    buffers.add(Buffer.createBuffer(out, out.endVector()));
    return buffers.size() - 1;
  }

  private static int[] ints(List<Integer> values) {
    return values.stream().mapToInt(Integer::intValue).toArray();
  }
}
