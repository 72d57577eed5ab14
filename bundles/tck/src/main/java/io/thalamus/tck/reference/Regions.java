// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Arrays;
import java.util.Map;

/** Regions of images: io.thalamus/ROI_ALIGN, by ONNX's description of RoiAlign. */
final class Regions {
  private static final int CORNERS = 4;

  /** Places in float32 that are nearer to a limit than this may be on either side of it. */
  private static final double NEAR = 1e-4;

  private Regions() {}

  static void register(Map<String, Formula> formulas) {
    formulas.put(Evaluator.name(ThalamusExtension.ROI_ALIGN), Formula.single(Regions::align));
  }

  /** The place of each sample along an axis of a cell. */
  private static double[] places(Call call, int box, int axis, int cells, int cell) {
    double offset = call.bool(7, false) ? 0.5 : 0;
    double from = corner(call, box, axis) * call.number(6) - offset;
    double extent = corner(call, box, axis + 2) * call.number(6) - offset - from;
    double step = (call.bool(7, false) ? extent : Math.max(extent, 1)) / cells;
    int samples = call.int32(5) > 0 ? call.int32(5) : Math.max((int) Math.ceil(step), 0);
    double[] places = new double[samples];
    for (int i = 0; i < samples; i++) {
      places[i] = from + step * (cell + (i + 0.5) / samples);
    }
    return places;
  }

  private static double corner(Call call, int box, int index) {
    Bounds real = call.in(1).real();
    if (!real.isExact(box * CORNERS + index)) {
      throw new UnsupportedOperationException("a box that is only known within bounds");
    }
    return real.middle()[box * CORNERS + index];
  }

  /** Two neighbours of a place and the weight of the second; outside, both weigh nothing. */
  private record Between(int first, int second, double weight, double most) {
    static Between of(double place, int size) {
      if (Math.abs(place + 1) < NEAR || Math.abs(place - size) < NEAR) {
        throw new UnsupportedOperationException("a sample at the edge of what counts");
      }
      double within = Math.clamp(place, 0, size - 1);
      int first = (int) within;
      boolean isInside = place > -1 && place < size;
      return new Between(first, Math.min(first + 1, size - 1), within - first, isInside ? 1 : 0);
    }

    double weight(boolean isSecond) {
      return most * (isSecond ? weight : 1 - weight);
    }
  }

  private static Result align(Call call) {
    Image in = Image.of(call.in(0).shape(), false);
    int boxes = call.in(1).shape()[0];
    Image out = in.with(boxes, call.int32(3), call.int32(4), in.channels());
    Bounds results = Bounds.empty(out.size());
    double[] slack = new double[out.size()];
    int[] images = call.ints(2);
    out.each(
        (b, y, x, c) -> {
          double[] rows = places(call, b, 1, out.height(), y);
          double[] columns = places(call, b, 0, out.width(), x);
          cell(
              call,
              in,
              new int[] {images[b], c},
              rows,
              columns,
              results,
              slack,
              out.at(b, y, x, c));
        });
    return Result.rounded(out.shape(), results, slack);
  }

  private static void cell(
      Call call,
      Image in,
      int[] plane,
      double[] rows,
      double[] columns,
      Bounds results,
      double[] slack,
      int at) {
    boolean isLargest = call.bool(8, false);
    Bounds pixels = call.in(0).real();
    double[] sums = new double[3];
    double[] most = new double[3];
    Arrays.fill(most, rows.length * columns.length == 0 ? 0 : Double.NEGATIVE_INFINITY);
    double size = 0;
    for (double row : rows) {
      Between v = Between.of(row, in.height());
      for (double column : columns) {
        Between h = Between.of(column, in.width());
        for (int i = 0; i < 4; i++) {
          int pixel =
              in.at(
                  plane[0],
                  i < 2 ? v.first() : v.second(),
                  i % 2 == 0 ? h.first() : h.second(),
                  plane[1]);
          double weight = v.weight(i >= 2) * h.weight(i % 2 == 1);
          double[] weighted = {
            weight * pixels.low()[pixel],
            weight * pixels.middle()[pixel],
            weight * pixels.high()[pixel]
          };
          for (int k = 0; k < 3; k++) {
            sums[k] += weighted[k];
            most[k] = Math.max(most[k], weighted[k]);
          }
          size = Math.max(size, Math.abs(pixels.middle()[pixel]));
        }
      }
    }
    double count = isLargest ? 1 : Math.max(rows.length * columns.length, 1);
    double[] found = isLargest ? most : sums;
    results.set(at, found[0] / count, found[1] / count, found[2] / count);
    // A place in float32 is off by some units in its last place.
    slack[at] = size * 0x8p-20 * Math.max(in.height(), in.width());
  }
}
