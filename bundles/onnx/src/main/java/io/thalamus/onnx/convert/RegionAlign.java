// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.DataType;
import java.util.ArrayList;
import java.util.List;

/**
 * RoiAlign: means or largest values of samples in the cells of regions whose places are computed.
 * How many samples a cell has must be stated, since it decides on shapes.
 */
final class RegionAlign {
  private final Node node;
  private final Ops ops;
  private final int regions;
  private final int samples;
  private final double offset;

  private RegionAlign(Node node) throws ModelFormatException {
    this.node = node;
    this.ops = node.ops();
    this.regions = node.in(1).dim(0);
    this.samples = node.setting("sampling_ratio", 0);
    String mode =
        node.text(
            "coordinate_transformation_mode",
            node.opset() >= 16 ? "half_pixel" : "output_half_pixel");
    this.offset = mode.equals("half_pixel") ? -0.5 : 0;
    node.require(
        samples > 0,
        "its sampling_ratio is " + samples + ", so that the number of samples is computed");
  }

  static void addTo(Converters table) {
    table.add("RoiAlign", node -> new RegionAlign(node).convert());
  }

  /** Samples along an axis, one column each: lower and upper neighbour, and the upper's weight. */
  private record Axis(Value low, Value high, Value rest, Value isInside) {}

  private void convert() throws ModelFormatException {
    Value image = node.in(0);
    node.require(
        image.rank() == 4 && node.in(1).rank() == 2 && image.type().isFloat(),
        "it has the inputs " + image.text() + " and " + node.in(1).text());
    int channels = image.dim(1);
    int height = node.setting("output_height", 1);
    int width = node.setting("output_width", 1);
    node.require(height > 0 && width > 0, "its output has no elements");
    Axis down = axis(1, height, image.dim(2));
    Axis across = axis(0, width, image.dim(3));
    int rows = height * samples;
    int columns = width * samples;
    int plane = image.dim(2) * image.dim(3);
    Value pixels =
        ops.reshape(
            ops.transpose(ops.reshape(image, image.dim(0), channels, plane), 0, 2, 1),
            image.dim(0) * plane,
            channels);
    Value batch = ops.reshape(ops.cast(node.in(2), DataType.INT32), regions, 1, 1);
    Value base = ops.mul(batch, plane);
    boolean isLargest = node.text("mode", "avg").equals("max");
    List<Value> parts = new ArrayList<>();
    Value ones = ops.number(DataType.FLOAT, 1);
    for (int i = 0; i < 4; i++) {
      Value y = ops.reshape(i < 2 ? down.low() : down.high(), regions, rows, 1);
      Value x = ops.reshape(i % 2 == 0 ? across.low() : across.high(), regions, 1, columns);
      Value place = ops.add(ops.add(base, ops.mul(y, image.dim(3))), x);
      Value v = ops.reshape(i < 2 ? ops.sub(ones, down.rest()) : down.rest(), regions, rows, 1);
      Value h =
          ops.reshape(
              i % 2 == 0 ? ops.sub(ones, across.rest()) : across.rest(), regions, 1, columns);
      Value weight =
          ops.mul(
              ops.mul(v, ops.reshape(down.isInside(), regions, rows, 1)),
              ops.mul(h, ops.reshape(across.isInside(), regions, 1, columns)));
      Value found = ops.gather(pixels, 0, ops.reshape(place, regions * rows * columns));
      parts.add(ops.mul(found, ops.reshape(weight, regions * rows * columns, 1)));
    }
    Value sampled =
        isLargest
            ? ops.binary(
                Binary.MAXIMUM,
                ops.binary(Binary.MAXIMUM, parts.get(0), parts.get(1)),
                ops.binary(Binary.MAXIMUM, parts.get(2), parts.get(3)))
            : ops.add(ops.add(parts.get(0), parts.get(1)), ops.add(parts.get(2), parts.get(3)));
    Value cells =
        ops.reshape(
            ops.transpose(
                ops.reshape(sampled, regions * height, samples, width, samples * channels),
                0,
                2,
                1,
                3),
            regions * height * width,
            samples * samples,
            channels);
    Value result =
        isLargest
            ? ops.reduce(Ops.Reduction.MAX, cells, 1)
            : ops.reduce(Ops.Reduction.MEAN, cells, 1);
    node.out(ops.transpose(ops.reshape(result, regions, height, width, channels), 0, 3, 1, 2));
  }

  private Axis axis(int coordinate, int cells, int size) throws ModelFormatException {
    Value boxes = ops.cast(node.in(1), DataType.FLOAT);
    double scale = node.real("spatial_scale", 1);
    Value first = place(ops.at(boxes, 1, coordinate), scale);
    Value last = place(ops.at(boxes, 1, coordinate + 2), scale);
    Value extent = ops.sub(last, first);
    if (offset == 0) {
      extent = ops.max(extent, 1);
    }
    int count = cells * samples;
    double[] steps = ops.budget().doubles(count);
    for (int i = 0; i < count; i++) {
      steps[i] = (i / samples + (i % samples + 0.5) / samples) / cells;
    }
    Value places =
        ops.add(
            ops.reshape(first, regions, 1),
            ops.mul(
                ops.reshape(extent, regions, 1),
                ops.constant(DataType.FLOAT, new int[] {1, count}, steps)));
    Value outside =
        ops.binary(
            Binary.MAXIMUM,
            ops.cast(
                ops.binary(Binary.LESS, places, ops.number(DataType.FLOAT, -1)), DataType.FLOAT),
            ops.cast(
                ops.binary(Binary.GREATER, places, ops.number(DataType.FLOAT, size)),
                DataType.FLOAT));
    Value within = ops.min(ops.max(places, 0), size - 1);
    Value low = ops.unary(Unary.FLOOR, within);
    Value high = ops.min(ops.add(low, 1), size - 1);
    return new Axis(
        ops.cast(low, DataType.INT32),
        ops.cast(high, DataType.INT32),
        ops.sub(within, low),
        ops.sub(ops.number(DataType.FLOAT, 1), outside));
  }

  private Value place(Value coordinate, double scale) throws ModelFormatException {
    return ops.add(ops.mul(coordinate, scale), offset);
  }
}
