// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxAttribute;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Operators on stored integers, as the operator on the real numbers that they stand for; quantized
 * operations come of it where a device has them. Those of ONNX Runtime have the domain {@code
 * com.microsoft}.
 */
final class QLinear {
  private static final String DOMAIN = "com.microsoft.";

  private QLinear() {}

  static void addTo(Converters table) {
    for (String pair : List.of("Add", "Mul")) {
      table.add(DOMAIN + "QLinear" + pair, node -> pair(node, pair));
    }
    for (String single :
        List.of(
            "LeakyRelu", "Sigmoid", "Softmax", "AveragePool", "GlobalAveragePool", "ReduceMean")) {
      table.add(DOMAIN + "QLinear" + single, node -> single(node, single));
    }
    table.add(DOMAIN + "QLinearConcat", QLinear::concat);
    table.add(DOMAIN + "QLinearWhere", QLinear::where);
    table.add(DOMAIN + "QGemm", QLinear::gemm);
    table.add(DOMAIN + "QLinearConv", node -> channelsLast(node, "QLinearConv", false));
    table.add(DOMAIN + "NhwcMaxPool", node -> channelsLast(node, "MaxPool", true));
    table.add(DOMAIN + "NhwcConv", node -> channelsLast(node, "Conv", true));
  }

  /** The real numbers of an input that its scale and zero point follow. */
  private static Value real(Node node, int input) {
    return real(node, input, input + 1, 1);
  }

  private static Value real(Node node, int input, int scale, int axis) {
    Value value = node.in(input);
    Value zero =
        node.has(scale + 1) ? Quantization.along(node, node.in(scale + 1), value, axis) : null;
    return Quantization.dequantized(
        node.ops(), value, Quantization.along(node, node.in(scale), value, axis), zero, axis);
  }

  /** Gives real numbers with the scale and zero point that stand at an input. */
  private static void give(Node node, Value value, int scale) {
    Value zero = node.has(scale + 1) ? node.ops().reshape(node.in(scale + 1)) : null;
    DataType type = zero == null ? node.in(0).type() : zero.type();
    Value factor = node.ops().reshape(node.in(scale));
    node.out(
        Quantization.quantized(
            node.ops(), value, node.ops().cast(factor, value.type()), zero, type));
  }

  private static Map<String, OnnxAttribute> settings(Node node) {
    return node.onnx().attributes();
  }

  private static void pair(Node node, String operator) {
    give(node, node.compute(operator, Map.of(), real(node, 0), real(node, 3)), 6);
  }

  private static void single(Node node, String operator) {
    Map<String, OnnxAttribute> settings = new LinkedHashMap<>(settings(node));
    boolean isLast = node.flag("channels_last", false);
    settings.remove("channels_last");
    Value value = real(node, 0);
    int rank = value.rank();
    if (isLast) {
      value = node.ops().transpose(value, Dims.insert(Dims.range(rank - 1), 1, rank - 1));
    }
    Value result = node.compute(operator, settings, value);
    if (isLast) {
      result = node.ops().toEnd(result, 1);
    }
    if (operator.equals("AveragePool")) {
      Value zero = node.has(4) ? node.ops().reshape(node.in(4)) : null;
      Value scale = node.ops().reshape(node.in(3));
      DataType type = node.in(0).type();
      node.out(Quantization.quantizedMeans(node.ops(), result, scale, zero, type));
      return;
    }
    give(node, result, 3);
  }

  /** ONNX's operator, of data whose channels come last, where a setting may say so. */
  private static void channelsLast(Node node, String operator, boolean otherwise) {
    Map<String, OnnxAttribute> settings = new LinkedHashMap<>(settings(node));
    boolean isLast = node.flag("channels_last", otherwise);
    settings.remove("channels_last");
    List<Value> inputs = new ArrayList<>();
    for (int i = 0; i < node.inputs(); i++) {
      inputs.add(node.inOrNull(i));
    }
    int rank = inputs.getFirst().rank();
    node.require(!isLast || rank > 2, inputs.getFirst().text() + " has no channels");
    if (isLast) {
      int[] order = Dims.insert(Dims.range(rank - 1), 1, rank - 1);
      inputs.set(0, node.ops().transpose(inputs.getFirst(), order));
    }
    Value result = node.compute(operator, settings, inputs, 1).getFirst();
    node.out(isLast ? node.ops().toEnd(result, 1) : result);
  }

  private static void concat(Node node) {
    List<Value> parts = new ArrayList<>();
    for (int i = 2; i + 1 < node.inputs(); i += 3) {
      parts.add(real(node, i));
    }
    give(node, node.compute("Concat", settings(node), parts.toArray(Value[]::new)), 0);
  }

  private static void where(Node node) {
    give(node, node.compute("Where", Map.of(), node.in(0), real(node, 1), real(node, 4)), 7);
  }

  /** With a bias in units of the product of the scales; without a scale the result stays real. */
  private static void gemm(Node node) {
    Ops ops = node.ops();
    Value a = real(node, 0);
    boolean isTurned = node.flag("transB", false);
    Value b = real(node, 3, 4, isTurned ? 0 : 1);
    Value[] inputs = {a, b};
    if (node.has(6)) {
      Value unit = ops.mul(ops.reshape(node.in(1)), flat(ops, node.in(4)));
      Value bias = ops.mul(ops.cast(node.in(6), DataType.FLOAT), unit);
      inputs = new Value[] {a, b, ops.mul(bias, node.real("alpha", 1))};
    }
    Value result = node.compute("Gemm", settings(node), inputs);
    if (node.has(7)) {
      give(node, result, 7);
    } else {
      node.out(result);
    }
  }

  private static Value flat(Ops ops, Value scale) {
    return scale.count() == 1 ? ops.reshape(scale) : ops.flat(scale);
  }

  static void matmul(Node node) {
    int last = Math.max(0, node.in(3).rank() - 1);
    give(node, node.compute("MatMul", Map.of(), real(node, 0), real(node, 3, 4, last)), 6);
  }

  static void convolution(Node node) {
    Ops ops = node.ops();
    Value value = real(node, 0);
    Value weights = real(node, 3, 4, 0);
    Value[] inputs = {value, weights};
    if (node.has(8)) {
      Value unit = ops.mul(ops.reshape(node.in(1)), flat(ops, node.in(4)));
      inputs = new Value[] {value, weights, ops.mul(ops.cast(node.in(8), DataType.FLOAT), unit)};
    }
    give(node, node.compute("Conv", settings(node), inputs), 6);
  }

  /** Returns whether all scales and zero points of an operator with two inputs are known. */
  static boolean isKnown(Node node) {
    for (int input : new int[] {1, 2, 4, 5, 6, 7}) {
      if (!node.isKnown(input)) {
        return false;
      }
    }
    return true;
  }
}
