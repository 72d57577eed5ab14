// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.DataType;
import java.util.ArrayList;
import java.util.List;

/**
 * MaxRoiPool, by NNAPI's operation, whose boxes lie in the image; and RoiAlign: means or largest
 * values of samples in the cells of regions whose places are computed. How many samples a cell has
 * must be stated, since it decides on shapes, but where NNAPI's own operation takes as many as a
 * cell has pixels.
 */
final class RegionAlign {
  /** Floats count so far. */
  private static final long EXACT = 1 << 24;

  private final Node node;
  private final Ops ops;
  private final int regions;
  private final int samples;
  private final double offset;

  private RegionAlign(Node node) throws ModelFormatException {
    this.node = node;
    this.ops = node.ops();
    this.regions = node.openIn(1).dim(0);
    this.samples = node.setting("sampling_ratio", 0);
    String mode =
        node.text(
            "coordinate_transformation_mode",
            node.opset() >= 16 ? "half_pixel" : "output_half_pixel");
    this.offset = mode.equals("half_pixel") ? -0.5 : 0;
  }

  static void addTo(Converters table) {
    table.add("RoiAlign", RegionAlign::convert);
    table.add("MaxRoiPool", RegionAlign::pool);
  }

  /** Also where only an execution tells how many regions there are. */
  static void convert(Node node) throws ModelFormatException {
    new RegionAlign(node).convert();
  }

  /** A row of a region has the number of its image in front of its corners. */
  static void pool(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value image = node.in(0);
    Value rows = node.openIn(1);
    int[] size = node.list("pooled_shape");
    node.require(
        image.rank() == 4 && rows.rank() == 2 && rows.dim(1) == 5 && image.type().isFloat(),
        "it has the inputs " + image.text() + " and " + rows.text());
    node.require(size != null && size.length == 2, "it does not say how large its results are");
    Value regions = OpenSizes.cast(ops, rows, DataType.FLOAT);
    Value of = OpenSizes.gather(ops, regions, 1, ops.integers(new int[0], 0));
    Value corners = OpenSizes.gather(ops, regions, 1, ops.integers(new int[] {4}, 1, 2, 3, 4));
    double ratio = 1 / node.real("spatial_scale", 1);
    Value found =
        ops.emitSized(
            image.type(),
            new int[] {rows.dim(0), size[0], size[1], image.dim(1)},
            OperationCode.ROI_POOLING,
            ops.operand(ops.transpose(image, 0, 2, 3, 1)),
            ops.operand(corners),
            ops.operand(OpenSizes.cast(ops, of, DataType.INT32)),
            ops.int32(size[0]),
            ops.int32(size[1]),
            ops.real(ratio),
            ops.real(ratio),
            ops.bool(false));
    node.out(OpenSizes.transpose(ops, found, 0, 3, 1, 2));
  }

  private Value add(Value a, Value b) throws ModelFormatException {
    return OpenSizes.binary(ops, Binary.ADD, a, b);
  }

  private Value sub(Value a, Value b) throws ModelFormatException {
    return OpenSizes.binary(ops, Binary.SUB, a, b);
  }

  private Value mul(Value a, Value b) throws ModelFormatException {
    return OpenSizes.binary(ops, Binary.MUL, a, b);
  }

  private Value max(Value a, Value b) throws ModelFormatException {
    return OpenSizes.binary(ops, Binary.MAXIMUM, a, b);
  }

  private Value min(Value a, double b) throws ModelFormatException {
    return OpenSizes.binary(ops, Binary.MINIMUM, a, real(b));
  }

  private Value real(double number) throws ModelFormatException {
    return ops.number(DataType.FLOAT, number);
  }

  private Value shaped(Value value, int... shape) throws ModelFormatException {
    return OpenSizes.reshape(ops, value, shape);
  }

  /** Samples along an axis, one column each: lower and upper neighbour, and the upper's weight. */
  private record Axis(Value low, Value high, Value rest, Value isInside) {}

  private void convert() throws ModelFormatException {
    Value image = node.in(0);
    node.require(
        image.rank() == 4 && node.openIn(1).rank() == 2 && image.type().isFloat(),
        "it has the inputs " + image.text() + " and " + node.openIn(1).text());
    int channels = image.dim(1);
    int height = node.setting("output_height", 1);
    int width = node.setting("output_width", 1);
    node.require(height > 0 && width > 0, "its output has no elements");
    boolean isLargest = node.text("mode", "avg").equals("max");
    if (samples == 0) {
      node.require(
          offset == 0 && !isLargest,
          "its sampling_ratio is 0, which NNAPI has for means and output_half_pixel alone");
      node.out(adaptive(image, height, width));
      return;
    }
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
    node.require(
        (long) image.dim(0) * plane <= EXACT, "its images have too many places to be counted");
    Value batch = shaped(OpenSizes.cast(ops, node.openIn(2), DataType.FLOAT), regions, 1, 1);
    Value base = mul(batch, real(plane));
    List<Value> parts = new ArrayList<>();
    int all = regions * rows * columns;
    for (int i = 0; i < 4; i++) {
      Value y = shaped(i < 2 ? down.low() : down.high(), regions, rows, 1);
      Value x = shaped(i % 2 == 0 ? across.low() : across.high(), regions, 1, columns);
      Value place = add(add(base, mul(y, real(image.dim(3)))), x);
      Value v = shaped(i < 2 ? sub(real(1), down.rest()) : down.rest(), regions, rows, 1);
      Value h =
          shaped(i % 2 == 0 ? sub(real(1), across.rest()) : across.rest(), regions, 1, columns);
      Value weight =
          mul(
              mul(v, shaped(down.isInside(), regions, rows, 1)),
              mul(h, shaped(across.isInside(), regions, 1, columns)));
      Value places = OpenSizes.cast(ops, shaped(place, all), DataType.INT32);
      Value found = OpenSizes.gather(ops, pixels, 0, places);
      parts.add(mul(found, shaped(weight, all, 1)));
    }
    Value sampled =
        isLargest
            ? max(max(parts.get(0), parts.get(1)), max(parts.get(2), parts.get(3)))
            : add(add(parts.get(0), parts.get(1)), add(parts.get(2), parts.get(3)));
    Value cells =
        shaped(
            OpenSizes.transpose(
                ops,
                shaped(sampled, regions * height, samples, width, samples * channels),
                0,
                2,
                1,
                3),
            regions * height * width,
            samples * samples,
            channels);
    Value result =
        OpenSizes.reduce(
            ops, isLargest ? OperationCode.REDUCE_MAX : OperationCode.MEAN, cells, 1, true);
    node.out(
        OpenSizes.transpose(ops, shaped(result, regions, height, width, channels), 0, 3, 1, 2));
  }

  /** With as many samples as a cell has pixels, by NNAPI's operation. */
  private Value adaptive(Value image, int height, int width) throws ModelFormatException {
    double ratio = 1 / node.real("spatial_scale", 1);
    Value found =
        ops.emitSized(
            image.type(),
            new int[] {regions, height, width, image.dim(1)},
            OperationCode.ROI_ALIGN,
            ops.operand(ops.transpose(image, 0, 2, 3, 1)),
            ops.operand(OpenSizes.cast(ops, node.openIn(1), DataType.FLOAT)),
            ops.operand(OpenSizes.cast(ops, node.openIn(2), DataType.INT32)),
            ops.int32(height),
            ops.int32(width),
            ops.real(ratio),
            ops.real(ratio),
            ops.int32(0),
            ops.int32(0),
            ops.bool(false));
    return OpenSizes.transpose(ops, found, 0, 3, 1, 2);
  }

  private Axis axis(int coordinate, int cells, int size) throws ModelFormatException {
    Value boxes = OpenSizes.cast(ops, node.openIn(1), DataType.FLOAT);
    double scale = node.real("spatial_scale", 1);
    Value first = place(column(boxes, coordinate), scale);
    Value last = place(column(boxes, coordinate + 2), scale);
    Value extent = sub(last, first);
    if (offset == 0) {
      extent = max(extent, real(1));
    }
    int count = cells * samples;
    double[] steps = ops.budget().doubles(count);
    for (int i = 0; i < count; i++) {
      steps[i] = (i / samples + (i % samples + 0.5) / samples) / cells;
    }
    Value row = ops.constant(DataType.FLOAT, new int[] {1, count}, steps);
    Value places = add(first, mul(extent, row));
    Value isBefore = OpenSizes.binary(ops, Binary.LESS, places, real(-1));
    Value isBehind = OpenSizes.binary(ops, Binary.GREATER, places, real(size));
    Value outside =
        max(
            OpenSizes.cast(ops, isBefore, DataType.FLOAT),
            OpenSizes.cast(ops, isBehind, DataType.FLOAT));
    Value within = min(max(places, real(0)), size - 1);
    Value low = OpenSizes.unary(ops, Unary.FLOOR, within);
    Value high = min(add(low, real(1)), size - 1);
    return new Axis(low, high, sub(within, low), sub(real(1), outside));
  }

  private Value column(Value boxes, int coordinate) throws ModelFormatException {
    return boxes.isOpen()
        ? OpenSizes.gather(ops, boxes, 1, ops.integers(new int[] {1}, coordinate))
        : ops.part(boxes, 1, coordinate, 1);
  }

  private Value place(Value coordinate, double scale) throws ModelFormatException {
    return add(mul(coordinate, real(scale)), real(offset));
  }
}
