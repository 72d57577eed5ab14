// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.network;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
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
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;

/**
 * Writes a network as an {@code .onnx} file: NCHW, explicit padding equal to TensorFlow's SAME, so
 * that it computes what the {@code .tflite} file of the same network does. In 8 bits each value is
 * rounded by QuantizeLinear and DequantizeLinear, as ONNX Runtime's tool writes it. Not
 * thread-safe: one object writes one file.
 */
public final class OnnxFile {
  /** Clip takes its bounds as inputs from 11 on, Softmax its axis alone from 13 on. */
  private static final int OPSET = 13;

  private static final int IR_VERSION = 8;
  private static final float RELU6 = 6;

  private final Network network;
  private final GraphProto.Builder graph = GraphProto.newBuilder();
  private final Set<String> constants = new HashSet<>();

  /** Null in a file of floats. */
  private final Quantization quantization;

  private OnnxFile(Network network) {
    this.network = network;
    this.quantization = network.isQuantized() ? new Quantization(network) : null;
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
    graph.setName(network.name());
    graph.addInput(info("value_0", dims(network.input())));
    if (quantization != null) {
      quantized(0);
    }
    for (int i = 0; i < network.layers().size(); i++) {
      layer(i + 1, network.layers().get(i));
      if (quantization != null) {
        quantized(i + 1);
      }
    }
    graph.addOutput(info(name(network.layers().size()), dims(network.output())));
  }

  private static int[] dims(Size size) {
    return size.form() == Network.Form.PICTURE
        ? new int[] {1, size.channels(), size.height(), size.width()}
        : size.shape();
  }

  /** The name under which others read a value. */
  private String name(int value) {
    return quantization == null ? written(value) : written(value) + "_rounded";
  }

  private static String written(int value) {
    return "value_" + value;
  }

  private void layer(int value, Layer layer) {
    switch (layer) {
      case Weighted weighted when weighted.kind() == Weighted.Kind.DENSE -> dense(value, weighted);
      case Weighted weighted -> convolution(value, weighted);
      case MaxPool pool -> {
        NodeProto.Builder node = node("MaxPool", written(value), name(pool.from()));
        window(node, network.size(pool.from()), pool.size(), pool.kernel(), pool.stride());
        graph.addNode(node);
      }
      case GlobalAverage average ->
          graph.addNode(node("GlobalAveragePool", written(value), name(average.from())));
      case Add add ->
          activated(
              node("Add", written(value), name(add.first()), name(add.second())),
              add.activation(),
              value);
      case Product product ->
          graph.addNode(node("Mul", written(value), name(product.first()), name(product.second())));
      case Logistic logistic ->
          graph.addNode(node("Sigmoid", written(value), name(logistic.from())));
      case Concatenation joined ->
          graph.addNode(
              node("Concat", written(value), name(joined.first()), name(joined.second()))
                  .addAttribute(number("axis", 1)));
      case Gelu gelu -> gelu(value, name(gelu.from()));
      case Normalization normalization -> normalization(value, normalization);
      case Attention attention -> attention(value, attention);
      case Softmax softmax ->
          graph.addNode(
              node("Softmax", written(value), name(softmax.from()))
                  .addAttribute(number("axis", 1)));
    }
  }

  private void convolution(int value, Weighted layer) {
    Size from = network.size(layer.from());
    int k = layer.kernel();
    boolean depthwise = layer.kind() == Weighted.Kind.DEPTHWISE;
    int[] dims = {layer.size().channels(), depthwise ? 1 : from.channels(), k, k};
    NodeProto.Builder node =
        node(
            "Conv",
            written(value),
            name(layer.from()),
            weights(value, layer, k * k, dims),
            bias(value, layer));
    window(node, from, layer.size(), k, layer.stride());
    node.addAttribute(number("group", depthwise ? layer.size().channels() : 1));
    activated(node, layer.activation(), value);
  }

  private void dense(int value, Weighted layer) {
    Size from = network.size(layer.from());
    int channels = layer.size().channels();
    if (from.form() == Network.Form.ROWS) {
      // PyTorch multiplies by a constant that its exporter has transposed, and adds the bias.
      float[] columns = transposed(layer.weights(), channels, from.channels());
      graph.addInitializer(tensor("weights_" + value, columns, from.channels(), channels));
      String product =
          add(node("MatMul", "product_" + value, name(layer.from()), "weights_" + value));
      activated(
          node("Add", written(value), bias(value, layer), product), layer.activation(), value);
      return;
    }
    String row = name(layer.from());
    if (from.form() == Network.Form.PICTURE) {
      row = add(node("Flatten", "flat_" + value, row).addAttribute(number("axis", 1)));
      if (quantization != null) {
        row = rounded(row, quantization.parameters(layer.from()));
      }
    }
    int places = from.height() * from.width();
    activated(
        node(
                "Gemm",
                written(value),
                row,
                weights(value, layer, places, channels, from.elements()),
                bias(value, layer))
            .addAttribute(number("transB", 1)),
        layer.activation(),
        value);
  }

  /** Adds the weights of a layer, with the places of each channel innermost. */
  private String weights(int value, Weighted layer, int places, int... dims) {
    int outer = layer.kind() == Weighted.Kind.DEPTHWISE ? 1 : layer.size().channels();
    int columns = layer.weights().length / outer / places;
    String name = "weights_" + value;
    if (quantization == null) {
      graph.addInitializer(tensor(name, transposed(layer.weights(), places, columns), dims));
      return name;
    }
    byte[] stored = Quantization.weights(layer);
    byte[] bytes = new byte[stored.length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[place(i, places, columns)] = stored[i];
    }
    graph.addInitializer(tensor(name, DataType.INT8, ByteString.copyFrom(bytes), dims));
    return dequantized(name, DataType.INT8, Quantization.scales(layer));
  }

  private String bias(int value, Weighted layer) {
    String name = "bias_" + value;
    int channels = layer.bias().length;
    if (quantization == null) {
      graph.addInitializer(tensor(name, layer.bias(), channels));
      return name;
    }
    ByteBuffer bytes = ByteBuffer.allocate(channels * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asIntBuffer().put(quantization.bias(layer));
    graph.addInitializer(
        tensor(name, DataType.INT32, UnsafeByteOperations.unsafeWrap(bytes), channels));
    return dequantized(name, DataType.INT32, quantization.biasScales(layer));
  }

  /** Adds what makes real numbers of a constant with a scale for each channel. */
  private String dequantized(String name, DataType type, float[] scales) {
    String scale = name + "_scale";
    String zeroPoint = name + "_zero_point";
    graph.addInitializer(tensor(scale, scales, scales.length));
    int size = type == DataType.INT8 ? 1 : Integer.BYTES;
    graph.addInitializer(
        tensor(
            zeroPoint, type, ByteString.copyFrom(new byte[scales.length * size]), scales.length));
    return add(
        node("DequantizeLinear", name + "_real", name, scale, zeroPoint)
            .addAttribute(number("axis", 0)));
  }

  private void quantized(int value) {
    rounded(written(value), quantization.parameters(value));
  }

  /** Adds the pair that rounds a value to its 8 bits. */
  private String rounded(String value, Quantization.Parameters parameters) {
    String scale = value + "_scale";
    String zeroPoint = value + "_zero_point";
    graph.addInitializer(tensor(scale, new float[] {parameters.scale()}));
    byte[] zero = {(byte) parameters.zeroPoint()};
    graph.addInitializer(tensor(zeroPoint, DataType.INT8, ByteString.copyFrom(zero)));
    String bytes = add(node("QuantizeLinear", value + "_bytes", value, scale, zeroPoint));
    return add(node("DequantizeLinear", value + "_rounded", bytes, scale, zeroPoint));
  }

  /** By the error function, as PyTorch exports it. */
  private void gelu(int value, String from) {
    String scaled = binary("Div", "scaled_" + value, from, constant("root", (float) Math.sqrt(2)));
    String erf = add(node("Erf", "erf_" + value, scaled));
    String share = binary("Add", "share_" + value, erf, constant("one", 1));
    String twice = binary("Mul", "twice_" + value, from, share);
    binary("Mul", written(value), twice, constant("half", 0.5f));
  }

  /** By its parts, as PyTorch exports it below version 17. */
  private void normalization(int value, Normalization layer) {
    String from = name(layer.from());
    String mean = add(mean("mean_" + value, from));
    String centred = binary("Sub", "centred_" + value, from, mean);
    String square = binary("Pow", "square_" + value, centred, constant("two", 2));
    String variance = add(mean("variance_" + value, square));
    String above =
        binary("Add", "above_" + value, variance, constant("epsilon", Normalization.EPSILON));
    String deviation = add(node("Sqrt", "deviation_" + value, above));
    String normal = binary("Div", "normal_" + value, centred, deviation);
    int channels = layer.size().channels();
    graph.addInitializer(tensor("scale_" + value, layer.scale(), channels));
    graph.addInitializer(tensor("shift_" + value, layer.shift(), channels));
    String scaled = binary("Mul", "scaled_" + value, normal, "scale_" + value);
    binary("Add", written(value), scaled, "shift_" + value);
  }

  private static NodeProto.Builder mean(String output, String from) {
    return node("ReduceMean", output, from).addAttribute(numbers("axes", -1));
  }

  private void attention(int value, Attention layer) {
    String queries = heads("queries_" + value, layer.queries(), layer, 0, 2, 1, 3);
    String keys = heads("keys_" + value, layer.keys(), layer, 0, 2, 3, 1);
    String values = heads("values_" + value, layer.values(), layer, 0, 2, 1, 3);
    String products = binary("MatMul", "products_" + value, queries, keys);
    String root = constant("root_" + value, (float) Math.sqrt(layer.headSize()));
    String scores = binary("Div", "scores_" + value, products, root);
    String shares =
        add(node("Softmax", "shares_" + value, scores).addAttribute(number("axis", -1)));
    String mixed = binary("MatMul", "mixed_" + value, shares, values);
    String rows = transposed("rows_" + value, mixed, 0, 2, 1, 3);
    Size size = layer.size();
    reshaped(written(value), rows, size.shape());
  }

  /** Adds what brings the heads of a value before its rows. */
  private String heads(String output, int from, Attention layer, int... order) {
    String split =
        reshaped(
            output + "_split",
            name(from),
            1,
            layer.size().height(),
            layer.heads(),
            layer.headSize());
    return transposed(output, split, order);
  }

  private String reshaped(String output, String from, int... dims) {
    ByteBuffer bytes = ByteBuffer.allocate(dims.length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (int dim : dims) {
      bytes.putLong(dim);
    }
    String shape = output + "_shape";
    graph.addInitializer(
        tensor(shape, DataType.INT64, UnsafeByteOperations.unsafeWrap(bytes.flip()), dims.length));
    return binary("Reshape", output, from, shape);
  }

  private String transposed(String output, String from, int... order) {
    return add(node("Transpose", output, from).addAttribute(numbers("perm", order)));
  }

  private String binary(String type, String output, String first, String second) {
    return add(node(type, output, first, second));
  }

  /** Adds a number, unless it is there. */
  private String constant(String name, float value) {
    if (constants.add(name)) {
      graph.addInitializer(tensor(name, new float[] {value}));
    }
    return name;
  }

  /** Returns the name of the output. */
  private String add(NodeProto.Builder node) {
    graph.addNode(node);
    return node.getOutput(0);
  }

  /** Adds a node and, where it has an activation, a node for that, which writes the value. */
  private void activated(NodeProto.Builder node, Activation activation, int value) {
    // The range of 8 bits ends where the activation does, so that the tool drops it.
    if (activation == Activation.NONE || quantization != null) {
      graph.addNode(node);
      return;
    }
    String before = "before_" + value;
    graph.addNode(node.setName(before).clearOutput().addOutput(before));
    graph.addNode(
        activation == Activation.RELU
            ? node("Relu", written(value), before)
            : node("Clip", written(value), before, constant("zero", 0), constant("six", RELU6)));
  }

  /** The last two of three dimensions change places: HWI to IHW for each O. */
  private static float[] transposed(float[] values, int rows, int columns) {
    float[] result = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      result[place(i, rows, columns)] = values[i];
    }
    return result;
  }

  /** Where an element of matrices is once they are transposed. */
  private static int place(int i, int rows, int columns) {
    int matrix = i / (rows * columns);
    int inner = i % (rows * columns);
    return matrix * rows * columns + inner % columns * rows + inner / columns;
  }

  private static void window(NodeProto.Builder node, Size from, Size to, int kernel, int stride) {
    int[] rows = padding(from.height(), to.height(), kernel, stride);
    int[] columns = padding(from.width(), to.width(), kernel, stride);
    node.addAttribute(numbers("kernel_shape", kernel, kernel));
    node.addAttribute(numbers("strides", stride, stride));
    node.addAttribute(numbers("pads", rows[0], columns[0], rows[1], columns[1]));
  }

  private static int[] padding(int size, int output, int kernel, int stride) {
    int total = Network.padding(size, output, kernel, stride);
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
    return tensor(name, DataType.FLOAT, UnsafeByteOperations.unsafeWrap(bytes), dims);
  }

  private static TensorProto tensor(String name, DataType type, ByteString raw, int... dims) {
    TensorProto.Builder tensor =
        TensorProto.newBuilder().setName(name).setDataType(type.getNumber()).setRawData(raw);
    for (int dim : dims) {
      tensor.addDims(dim);
    }
    return tensor.build();
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
                        .setElemType(DataType.FLOAT.getNumber())
                        .setShape(shape)))
        .build();
  }
}
