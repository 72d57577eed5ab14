// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import java.util.List;
import java.util.Map;

/** Operators that ONNX Runtime has of its own: CropAndResize, and MoE, a mixture of experts. */
final class Contributed {
  private Contributed() {}

  static void addTo(Converters table) {
    table.add(Fused.DOMAIN + "CropAndResize", Contributed::cropAndResize);
    table.add(Fused.DOMAIN + "MoE", Contributed::experts);
  }

  // ---- cut images ----

  /** The weights of an axis {@code [boxes, size, input]}, and which places are outside. */
  private record Cut(Value weights, Value isOutside) {}

  /** Each box is multiplied by the weights of its rows and of its columns. */
  private static void cropAndResize(Node node) {
    Ops ops = node.ops();
    Value image = node.in(0);
    Value boxes = node.in(1);
    int[] size = node.ints(3);
    node.require(
        image.rank() == 4
            && image.type().isFloat()
            && boxes.rank() == 2
            && boxes.dim(1) == 4
            && node.in(2).count() == boxes.dim(0)
            && size.length == 2
            && size[0] > 0
            && size[1] > 0,
        "it cuts %s out of %s".formatted(boxes.text(), image.text()));
    int count = boxes.dim(0);
    int channels = image.dim(1);
    Value places = ops.reshape(ops.cast(node.in(2), DataType.INT32), count);
    Value own = ops.transpose(ops.gather(image, 0, places), 0, 2, 1, 3);
    Cut down = cut(node, boxes, 0, size[0], image.dim(2));
    Cut across = cut(node, boxes, 1, size[1], image.dim(3));
    Value lines = ops.reshape(own, count, image.dim(2), channels * image.dim(3));
    Value tall = ops.multiply(ops.cast(down.weights(), image.type()), lines, false);
    Value whole =
        ops.multiply(
            ops.reshape(tall, count, size[0] * channels, image.dim(3)),
            ops.cast(across.weights(), image.type()),
            true);
    Value result = ops.transpose(ops.reshape(whole, count, size[0], channels, size[1]), 0, 2, 1, 3);
    Value isOutside =
        ops.binary(
            Binary.OR,
            ops.reshape(down.isOutside(), count, 1, size[0], 1),
            ops.reshape(across.isOutside(), count, 1, 1, size[1]));
    Value otherwise = ops.number(image.type(), node.real("extrapolation_value", 0));
    node.out(ops.select(isOutside, otherwise, result));
  }

  private static Cut cut(Node node, Value boxes, int coordinate, int size, int input) {
    Ops ops = node.ops();
    Value first = ops.mul(ops.part(boxes, 1, coordinate, 1), input - 1);
    Value last = ops.mul(ops.part(boxes, 1, coordinate + 2, 1), input - 1);
    Value place;
    if (size > 1) {
      Value number = ops.cast(ops.range(1, size), boxes.type());
      place = ops.add(first, ops.mul(number, ops.mul(ops.sub(last, first), 1.0 / (size - 1))));
    } else {
      place = ops.mul(ops.add(first, last), 0.5);
    }
    Value end = ops.number(boxes.type(), input - 1);
    Value isOutside =
        ops.binary(
            Binary.OR,
            ops.binary(Binary.LESS, place, ops.number(boxes.type(), 0)),
            ops.binary(Binary.GREATER, place, end));
    String mode = node.text("mode", "bilinear");
    boolean isNearest = mode.equals("nearest");
    node.require(isNearest || mode.equals("bilinear"), "it samples by " + mode);
    Value at = isNearest ? ops.unary(Unary.FLOOR, ops.add(place, 0.5)) : place;
    Value column = ops.cast(ops.range(1, 1, input), boxes.type());
    Value distance = ops.unary(Unary.ABS, ops.sub(ops.reshape(at, boxes.dim(0), size, 1), column));
    return new Cut(ops.max(ops.add(ops.mul(distance, -1), 1), 0), isOutside);
  }

  // ---- experts ----

  /** All experts compute all rows, and the sum of a row takes those that it is sent to. */
  private static void experts(Node node) {
    Ops ops = node.ops();
    Value input = node.in(0);
    Value first = node.in(2);
    Value second = node.in(4);
    node.require(
        !node.has(6) && !node.has(7) && !node.flag("use_sparse_mixer", false),
        "its experts have a third layer, or a sparse mixer");
    node.require(
        first.rank() == 3
            && second.rank() == 3
            && first.dim(0) == second.dim(0)
            && input.rank() > 1
            && input.dim(input.rank() - 1) == first.dim(2)
            && second.dim(2) == first.dim(1),
        "its weights %s and %s do not fit %s".formatted(first.text(), second.text(), input.text()));
    int experts = first.dim(0);
    int width = first.dim(2);
    int rows = input.count() / width;
    Value inner = layer(node, ops.reshape(input, 1, rows, width), first, 3);
    Value hidden =
        switch (node.text("activation_type", "relu")) {
          case "relu" -> ops.unary(Unary.RELU, inner);
          case "gelu" -> Activation.tanhGelu(ops, inner);
          case "silu" -> ops.mul(inner, ops.unary(Unary.LOGISTIC, inner));
          case "identity" -> inner;
          default ->
              throw node.refuse("its activation_type is " + node.text("activation_type", ""));
        };
    Value each = layer(node, hidden, second, 5);
    Value gates = ops.reshape(ops.transpose(gates(node, rows, experts), 1, 0), experts, rows, 1);
    Value sum = ops.reduce(Reduction.SUM, ops.mul(each, gates), 0);
    node.out(ops.reshape(sum, input.shape()));
  }

  private static Value layer(Node node, Value rows, Value weights, int bias) {
    Ops ops = node.ops();
    Value product = ops.multiply(rows, weights, true);
    if (!node.has(bias)) {
      return product;
    }
    Value added = ops.reshape(node.in(bias), weights.dim(0), 1, weights.dim(1));
    return ops.add(product, added);
  }

  /** How much of a row each expert gives, which is 0 for all but the likeliest ones. */
  private static Value gates(Node node, int rows, int experts) {
    Ops ops = node.ops();
    int k = node.setting("k", 1);
    node.require(k > 0 && k <= experts, "it takes %s of %s experts".formatted(k, experts));
    Value likely = ops.softmax(ops.reshape(node.in(1), rows, experts), 1, false);
    List<Value> best =
        node.compute("TopK", Map.of(), List.of(likely, ops.integers(new int[] {1}, k)), 2);
    Value number = ops.range(1, 1, experts);
    Value isTaken =
        ops.binary(
            Binary.EQUAL, ops.reshape(ops.cast(best.get(1), number.type()), rows, k, 1), number);
    Value taken = ops.reduce(Reduction.MAX, ops.cast(isTaken, likely.type()), 1);
    Value gates = ops.mul(ops.reshape(taken, rows, experts), likely);
    return node.flag("normalize_routing_weights", false)
        ? ops.div(gates, ops.reduce(Reduction.SUM, gates, 1))
        : gates;
  }
}
