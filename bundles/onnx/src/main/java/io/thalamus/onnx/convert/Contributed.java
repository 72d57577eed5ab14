// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;

/** Operators on images and sequences that ONNX Runtime has of its own. */
final class Contributed {
  private Contributed() {}

  static void addTo(Converters table) {
    table.add(Fused.DOMAIN + "CropAndResize", Contributed::cropAndResize);
    table.add(Fused.DOMAIN + "UnfoldTensor", Contributed::unfold);
  }

  /** Windows of an axis, which overlap where they are longer than the steps between them. */
  private static void unfold(Node node) {
    Value value = node.in(0);
    int axis = node.axis(node.setting("dim", -1), value.rank());
    int size = node.setting("size", 0);
    int step = node.setting("step", 1);
    node.require(
        size > 0 && step > 0 && size <= value.dim(axis),
        "it takes %d of %s in steps of %d".formatted(size, value.text(), step));
    int[] strides = Dims.strides(value.shape());
    int[] windows = Dims.with(value.shape(), axis, (value.dim(axis) - size) / step + 1);
    int[] next = Dims.with(strides, axis, strides[axis] * step);
    node.out(
        node.ops()
            .view(
                value,
                Dims.join(windows, new int[] {size}),
                Dims.join(next, new int[] {strides[axis]}),
                0));
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
}
