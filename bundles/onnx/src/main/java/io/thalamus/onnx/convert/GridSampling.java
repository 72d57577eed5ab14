// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Values sampled at places that are computed: the weighted sum of the neighbours of each place. */
final class GridSampling {
  private GridSampling() {}

  static void addTo(Converters table) {
    table.add("AffineGrid", GridSampling::affine);
    table.add("GridSample", GridSampling::sample);
  }

  /** One neighbour along an axis: its number and its weight, for each place. */
  record Tap(Value place, Value weight) {}

  private static void sample(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    Value grid = node.in(1);
    int rank = value.rank() - 2;
    node.require(
        rank > 0
            && grid.rank() == value.rank()
            && grid.dim(grid.rank() - 1) == rank
            && value.type().isFloat()
            && grid.dim(0) == value.dim(0),
        "it has the inputs " + value.text() + " and " + grid.text());
    int batch = value.dim(0);
    int places = grid.count() / batch / rank;
    Value all = ops.cast(ops.reshape(grid, batch, places, rank), DataType.FLOAT);
    List<List<Tap>> axes = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      axes.add(taps(node, ops.at(all, 2, rank - 1 - axis), value.dim(2 + axis)));
    }
    int[] shape =
        Dims.join(
            new int[] {batch, value.dim(1)}, Arrays.copyOfRange(grid.shape(), 1, grid.rank() - 1));
    node.out(ops.reshape(ops.transpose(sampled(ops, value, axes), 0, 2, 1), shape));
  }

  /**
   * The sums of the neighbours of places.
   *
   * @param value {@code [batch, channels, sizes...]}
   * @param axes for each size the neighbours along it, {@code [batch, places]}
   * @return {@code [batch, places, channels]}
   */
  static Value sampled(Ops ops, Value value, List<List<Tap>> axes) {
    int batch = value.dim(0);
    int channels = value.dim(1);
    int[] sizes = Arrays.copyOfRange(value.shape(), 2, value.rank());
    int[] strides = Dims.strides(sizes);
    List<Tap> taps = new ArrayList<>();
    int[] starts = ops.budget().range(batch);
    int plane = Dims.count(sizes);
    Arrays.setAll(starts, i -> i * plane);
    taps.add(new Tap(ops.integers(new int[] {batch, 1}, starts), null));
    for (int axis = 0; axis < sizes.length; axis++) {
      List<Tap> joined = new ArrayList<>();
      for (Tap tap : axes.get(axis)) {
        for (Tap before : taps) {
          Value place = ops.add(before.place(), ops.mul(tap.place(), strides[axis]));
          Value weight =
              before.weight() == null ? tap.weight() : ops.mul(before.weight(), tap.weight());
          joined.add(new Tap(place, weight));
        }
      }
      taps = joined;
    }
    Value rows =
        ops.reshape(
            ops.transpose(ops.reshape(value, batch, channels, plane), 0, 2, 1),
            batch * plane,
            channels);
    Value sum = null;
    for (Tap tap : taps) {
      Value found = ops.gather(rows, 0, tap.place());
      int[] shape = Dims.insert(tap.weight().shape(), 2, 1);
      Value part = ops.mul(found, ops.cast(ops.reshape(tap.weight(), shape), value.type()));
      sum = sum == null ? part : ops.add(sum, part);
    }
    return sum;
  }

  private static List<Tap> taps(Node node, Value along, int size) {
    Ops ops = node.ops();
    boolean isAligned = node.flag("align_corners", false);
    Value place =
        isAligned
            ? ops.mul(ops.add(along, 1), (size - 1) / 2.0)
            : ops.mul(ops.add(ops.mul(ops.add(along, 1), size), -1), 0.5);
    String mode = node.text("mode", "linear");
    String padding = node.text("padding_mode", "zeros");
    boolean isCubic = mode.contains("cubic");
    if (!isCubic && !padding.equals("zeros")) {
      place = brought(node, place, size, padding, isAligned);
    }
    return around(node, place, size, mode, padding, isAligned);
  }

  /** The neighbours of places that count the elements along an axis. */
  static List<Tap> around(
      Node node, Value place, int size, String mode, String padding, boolean isAligned) {
    Ops ops = node.ops();
    boolean isCubic = mode.contains("cubic");
    List<Tap> taps = new ArrayList<>();
    if (mode.equals("nearest")) {
      taps.add(tap(node, ops.round(place), null, size, padding, isAligned));
      return taps;
    }
    node.require(isCubic || mode.contains("linear"), "its mode is " + mode);
    Value floor = ops.unary(Unary.FLOOR, place);
    Value rest = ops.sub(place, floor);
    for (int i = isCubic ? -1 : 0; i < (isCubic ? 3 : 2); i++) {
      Value weight;
      if (isCubic) {
        Value distance = ops.unary(Unary.ABS, ops.add(rest, -i));
        weight = cubic(ops, distance, i == 0 || i == 1);
      } else {
        weight = i == 0 ? ops.sub(ops.number(DataType.FLOAT, 1), rest) : rest;
      }
      taps.add(tap(node, ops.add(floor, i), weight, size, padding, isAligned));
    }
    return taps;
  }

  private static Value cubic(Ops ops, Value x, boolean isNear) {
    double a = -0.75;
    if (isNear) {
      Value inner = ops.add(ops.mul(x, a + 2), -(a + 3));
      return ops.add(ops.mul(ops.mul(inner, x), x), 1);
    }
    Value inner = ops.add(ops.mul(ops.add(x, -5), x), 8);
    return ops.add(ops.mul(ops.mul(inner, x), a), -4 * a);
  }

  private static Tap tap(
      Node node, Value place, Value weight, int size, String padding, boolean isAligned) {
    Ops ops = node.ops();
    Value known = padding.equals("zeros") ? place : brought(node, place, size, padding, isAligned);
    Value within = ops.min(ops.max(known, 0), size - 1);
    Value counted = weight == null ? ops.fill(DataType.FLOAT, new int[] {1, 1}, 1) : weight;
    if (padding.equals("zeros")) {
      Value isInside = ops.binary(Binary.EQUAL, within, place);
      counted = ops.mul(counted, ops.cast(isInside, DataType.FLOAT));
    }
    Value full = ops.expand(counted, within.shape());
    return new Tap(ops.cast(within, DataType.INT32), full);
  }

  /** A place brought within the axis. */
  private static Value brought(
      Node node, Value place, int size, String padding, boolean isAligned) {
    Ops ops = node.ops();
    if (padding.equals("border")) {
      return ops.min(ops.max(place, 0), size - 1);
    }
    node.require(padding.equals("reflection"), "its padding_mode is " + padding);
    double least = isAligned ? 0 : -0.5;
    double range = isAligned ? size - 1 : size;
    if (range == 0) {
      return ops.mul(place, 0);
    }
    Value moved = ops.unary(Unary.ABS, ops.add(place, -least));
    Value period = ops.number(DataType.FLOAT, 2 * range);
    Value folded = ops.remainder(moved, period, false);
    Value mirrored = ops.binary(Binary.MINIMUM, folded, ops.sub(period, folded));
    return ops.min(ops.max(ops.add(mirrored, least), 0), size - 1);
  }

  /** The sizes of what is sampled, by those of the points: the channels do not matter. */
  private static int[] sizes(int[] points) {
    return Dims.insert(Arrays.copyOf(points, points.length - 1), 1, 1);
  }

  /**
   * The places of a picture's points, or a volume's, moved by matrices: x, y and z from -1 to 1.
   */
  private static void affine(Node node) {
    Ops ops = node.ops();
    Value matrices = node.in(0);
    int[] sizes = node.isKnown(1) ? node.ints(1) : sizes(node.stated(0, 1));
    int axes = sizes.length - 2;
    node.require(
        (axes == 2 || axes == 3)
            && Arrays.stream(sizes).allMatch(size -> size > 0)
            && Arrays.equals(matrices.shape(), new int[] {sizes[0], axes, axes + 1}),
        matrices.text() + " moves no points of the shape " + Dims.text(sizes));
    boolean isAligned = node.flag("align_corners", false);
    int count = Dims.count(sizes, 2, sizes.length);
    double[] points = ops.budget().doubles(Math.multiplyExact(count, axes + 1));
    for (int i = 0; i < count; i++) {
      int rest = i;
      for (int axis = 0; axis < axes; axis++) {
        int size = sizes[sizes.length - 1 - axis];
        int place = rest % size;
        rest /= size;
        double start = isAligned ? -1 : -1 + 1.0 / size;
        double step = isAligned ? 2.0 / Math.max(1, size - 1) : 2.0 / size;
        points[i * (axes + 1) + axis] = start + place * step;
      }
      points[i * (axes + 1) + axes] = 1;
    }
    Value fixed = ops.constant(matrices.type(), new int[] {1, count, axes + 1}, points);
    Value moved = ops.matmul(fixed, ops.transpose(matrices, 0, 2, 1));
    int[] shape = Dims.join(new int[] {sizes[0]}, Arrays.copyOfRange(sizes, 2, sizes.length));
    node.out(ops.reshape(moved, Dims.join(shape, new int[] {axes})));
  }
}
