// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
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
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Writes a network as an {@code .onnx} file: NCHW, explicit padding equal to TensorFlow's SAME, so
 * that it computes what the {@code .tflite} file of the same network does. Not thread-safe: one
 * object writes one file.
 */
public final class OnnxFile {
  /** Clip takes its bounds as inputs from 11 on, Softmax its axis alone from 13 on. */
  private static final int OPSET = 13;

  private static final int IR_VERSION = 8;
  private static final float RELU6 = 6;

  private final Network network;
  private final GraphProto.Builder graph = GraphProto.newBuilder();

  private OnnxFile(Network network) {
    this.network = network;
  }

  /** Writes {@code network} to {@code file}, which must not exist. */
  public static void write(Network network, Path file) throws IOException {
    OnnxFile writer = new OnnxFile(network);
    writer.build();
    ModelProto model =
        ModelProto.newBuilder()
            .setIrVersion(IR_VERSION)
            .setProducerName("thalamus")
            .addOpsetImport(OperatorSetIdProto.newBuilder().setDomain("").setVersion(OPSET))
            .setGraph(writer.graph)
            .build();
    try (OutputStream out = Files.newOutputStream(file, StandardOpenOption.CREATE_NEW)) {
      model.writeTo(out);
    }
  }

  private void build() {
    Size input = network.input();
    graph.setName(network.name());
    graph.addInput(info("value_0", 1, input.channels(), input.height(), input.width()));
    graph.addInitializer(scalar("zero", 0));
    graph.addInitializer(scalar("six", RELU6));
    for (int i = 0; i < network.layers().size(); i++) {
      layer(i + 1, network.layers().get(i));
    }
    Size output = network.output();
    String last = name(network.layers().size());
    graph.addOutput(
        network.isFlat(network.layers().size())
            ? info(last, 1, output.channels())
            : info(last, 1, output.channels(), output.height(), output.width()));
  }

  private static String name(int value) {
    return "value_" + value;
  }

  private void layer(int value, Layer layer) {
    switch (layer) {
      case Weighted weighted when weighted.kind() == Weighted.Kind.DENSE -> dense(value, weighted);
      case Weighted weighted -> convolution(value, weighted);
      case MaxPool pool -> {
        NodeProto.Builder node = node("MaxPool", name(value), name(pool.from()));
        window(node, network.size(pool.from()), pool.size(), pool.kernel(), pool.stride());
        graph.addNode(node);
      }
      case GlobalAverage average ->
          graph.addNode(node("GlobalAveragePool", name(value), name(average.from())));
      case Add add ->
          activated(
              node("Add", name(value), name(add.first()), name(add.second())),
              add.activation(),
              value);
      case Product product ->
          graph.addNode(node("Mul", name(value), name(product.first()), name(product.second())));
      case Logistic logistic -> graph.addNode(node("Sigmoid", name(value), name(logistic.from())));
      case Concatenation joined ->
          graph.addNode(
              node("Concat", name(value), name(joined.first()), name(joined.second()))
                  .addAttribute(number("axis", 1)));
      case Softmax softmax ->
          graph.addNode(
              node("Softmax", name(value), name(softmax.from())).addAttribute(number("axis", 1)));
    }
  }

  private void convolution(int value, Weighted layer) {
    Size from = network.size(layer.from());
    int channels = layer.size().channels();
    int k = layer.kernel();
    boolean depthwise = layer.kind() == Weighted.Kind.DEPTHWISE;
    float[] weights =
        depthwise
            ? transposed(layer.weights(), 1, k * k, channels)
            : transposed(layer.weights(), channels, k * k, from.channels());
    graph.addInitializer(
        tensor("weights_" + value, weights, channels, depthwise ? 1 : from.channels(), k, k));
    graph.addInitializer(tensor("bias_" + value, layer.bias(), channels));
    NodeProto.Builder node =
        node("Conv", name(value), name(layer.from()), "weights_" + value, "bias_" + value);
    window(node, from, layer.size(), k, layer.stride());
    node.addAttribute(number("group", depthwise ? channels : 1));
    activated(node, layer.activation(), value);
  }

  private void dense(int value, Weighted layer) {
    Size from = network.size(layer.from());
    int inputs = from.elements();
    int places = from.height() * from.width();
    float[] weights = transposed(layer.weights(), layer.size().channels(), places, from.channels());
    int channels = layer.size().channels();
    graph.addNode(
        node("Flatten", "flat_" + value, name(layer.from())).addAttribute(number("axis", 1)));
    graph.addInitializer(tensor("weights_" + value, weights, channels, inputs));
    graph.addInitializer(tensor("bias_" + value, layer.bias(), channels));
    activated(
        node("Gemm", name(value), "flat_" + value, "weights_" + value, "bias_" + value)
            .addAttribute(number("transB", 1)),
        layer.activation(),
        value);
  }

  /** Adds a node and, where it has an activation, a node for that, which writes the value. */
  private void activated(NodeProto.Builder node, Activation activation, int value) {
    if (activation == Activation.NONE) {
      graph.addNode(node);
      return;
    }
    String before = "before_" + value;
    graph.addNode(node.setName(before).clearOutput().addOutput(before));
    graph.addNode(
        activation == Activation.RELU
            ? node("Relu", name(value), before)
            : node("Clip", name(value), before, "zero", "six"));
  }

  /** The last two of three dimensions change places: HWI to IHW for each O. */
  private static float[] transposed(float[] values, int outer, int rows, int columns) {
    float[] result = new float[values.length];
    for (int o = 0; o < outer; o++) {
      int base = o * rows * columns;
      for (int r = 0; r < rows; r++) {
        for (int c = 0; c < columns; c++) {
          result[base + c * rows + r] = values[base + r * columns + c];
        }
      }
    }
    return result;
  }

  private static void window(NodeProto.Builder node, Size from, Size to, int kernel, int stride) {
    int[] rows = padding(from.height(), to.height(), kernel, stride);
    int[] columns = padding(from.width(), to.width(), kernel, stride);
    node.addAttribute(numbers("kernel_shape", kernel, kernel));
    node.addAttribute(numbers("strides", stride, stride));
    node.addAttribute(numbers("pads", rows[0], columns[0], rows[1], columns[1]));
  }

  /** TensorFlow's SAME, or VALID where the output is smaller: an odd element comes last. */
  private static int[] padding(int size, int output, int kernel, int stride) {
    int total = Math.max(0, (output - 1) * stride + kernel - size);
    return new int[] {total / 2, total - total / 2};
  }

  private static NodeProto.Builder node(String type, String output, String... inputs) {
    NodeProto.Builder node = NodeProto.newBuilder().setOpType(type).setName(output);
    for (String input : inputs) {
      node.addInput(input);
    }
    return node.addOutput(output);
  }

  private static AttributeProto number(String name, long value) {
    return AttributeProto.newBuilder()
        .setName(name)
        .setType(AttributeProto.AttributeType.INT)
        .setI(value)
        .build();
  }

  private static AttributeProto numbers(String name, int... values) {
    AttributeProto.Builder attribute =
        AttributeProto.newBuilder().setName(name).setType(AttributeProto.AttributeType.INTS);
    for (int value : values) {
      attribute.addInts(value);
    }
    return attribute.build();
  }

  private static TensorProto tensor(String name, float[] values, int... dims) {
    ByteBuffer bytes =
        ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    return tensor(name, UnsafeByteOperations.unsafeWrap(bytes), dims);
  }

  private static TensorProto tensor(String name, ByteString raw, int... dims) {
    TensorProto.Builder tensor =
        TensorProto.newBuilder()
            .setName(name)
            .setDataType(TensorProto.DataType.FLOAT.getNumber())
            .setRawData(raw);
    for (int dim : dims) {
      tensor.addDims(dim);
    }
    return tensor.build();
  }

  private static TensorProto scalar(String name, float value) {
    return tensor(name, new float[] {value});
  }

  private static ValueInfoProto info(String name, int... dims) {
    TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
    for (int dim : dims) {
      shape.addDim(TensorShapeProto.Dimension.newBuilder().setDimValue(dim));
    }
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(
            TypeProto.newBuilder()
                .setTensorType(
                    TypeProto.Tensor.newBuilder()
                        .setElemType(TensorProto.DataType.FLOAT.getNumber())
                        .setShape(shape)))
        .build();
  }
}
