// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import java.util.Map;

/** Moves between space, depth and batch, and RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR. */
final class Blocks {
  private Blocks() {}

  static void register(Map<String, Formula> formulas) {
    formulas.put("DEPTH_TO_SPACE", Formula.single(Blocks::depthToSpace));
    formulas.put("SPACE_TO_DEPTH", Formula.single(Blocks::spaceToDepth));
    formulas.put("BATCH_TO_SPACE_ND", Formula.single(Blocks::batchToSpace));
    formulas.put("SPACE_TO_BATCH_ND", Formula.single(Blocks::spaceToBatch));
    formulas.put("RESIZE_NEAREST_NEIGHBOR", Formula.single(Blocks::nearest));
    formulas.put("RESIZE_BILINEAR", Formula.single(Blocks::bilinear));
  }

  /** Tells for each place of the output the element of the input; -1 for none, which is 0. */
  @FunctionalInterface
  private interface Source {
    int of(int batch, int y, int x, int channel);
  }

  private static Result moved(Call call, Image out, Source source) {
    Bounds moved = Bounds.empty(out.size());
    out.each(
        (b, y, x, c) -> {
          int element = source.of(b, y, x, c);
          if (element >= 0) {
            moved.copy(out.at(b, y, x, c), call.in(0).real(), element);
          }
        });
    return Result.exact(out.shape(), moved);
  }

  private static Result depthToSpace(Call call) {
    int block = call.int32(1);
    Image in = Image.of(call.in(0).shape(), call.bool(2, false));
    int channels = in.channels() / (block * block);
    return moved(
        call,
        in.with(in.batches(), in.height() * block, in.width() * block, channels),
        (b, y, x, c) ->
            in.at(b, y / block, x / block, (y % block * block + x % block) * channels + c));
  }

  private static Result spaceToDepth(Call call) {
    int block = call.int32(1);
    Image in = Image.of(call.in(0).shape(), call.bool(2, false));
    int channels = in.channels();
    return moved(
        call,
        in.with(in.batches(), in.height() / block, in.width() / block, channels * block * block),
        (b, y, x, c) -> {
          int part = c / channels;
          return in.at(b, y * block + part / block, x * block + part % block, c % channels);
        });
  }

  private static Result batchToSpace(Call call) {
    int[] block = call.ints(1);
    Image in = Image.of(call.in(0).shape(), call.bool(2, false));
    int batches = in.batches() / (block[0] * block[1]);
    return moved(
        call,
        in.with(batches, in.height() * block[0], in.width() * block[1], in.channels()),
        (b, y, x, c) -> {
          int part = y % block[0] * block[1] + x % block[1];
          return in.at(part * batches + b, y / block[0], x / block[1], c);
        });
  }

  private static Result spaceToBatch(Call call) {
    int[] block = call.ints(1);
    int[] padding = call.ints(2);
    Image in = Image.of(call.in(0).shape(), call.bool(3, false));
    return moved(
        call,
        in.with(
            in.batches() * block[0] * block[1],
            (padding[0] + in.height() + padding[1]) / block[0],
            (padding[2] + in.width() + padding[3]) / block[1],
            in.channels()),
        (b, y, x, c) -> {
          int part = b / in.batches();
          int fromY = y * block[0] + part / block[1] - padding[0];
          int fromX = x * block[1] + part % block[1] - padding[2];
          return in.holds(fromY, fromX) ? in.at(b % in.batches(), fromY, fromX, c) : -1;
        });
  }

  /** Width and height come as numbers or as factors. */
  private static Image resized(Call call, Image in) {
    boolean byFactor =
        switch (call.in(1).type()) {
          case FLOAT32, FLOAT16 -> true;
          default -> false;
        };
    return byFactor
        ? in.with(
            in.batches(),
            (int) Math.floor(in.height() * (float) call.number(2)),
            (int) Math.floor(in.width() * (float) call.number(1)),
            in.channels())
        : in.with(in.batches(), call.int32(2), call.int32(1), in.channels());
  }

  /** The step from pixel to pixel; coordinates are in float32 wherever this is computed. */
  private static float step(int in, int out, boolean align) {
    return align && out > 1 ? (in - 1) / (float) (out - 1) : in / (float) out;
  }

  private static Result nearest(Call call) {
    Image in = Image.of(call.in(0).shape(), call.bool(3, false));
    Image out = resized(call, in);
    boolean align = call.bool(4, false);
    boolean half = call.bool(5, false);
    return moved(
        call,
        out,
        (b, y, x, c) ->
            in.at(
                b,
                near(y, in.height(), out.height(), align, half),
                near(x, in.width(), out.width(), align, half),
                c));
  }

  private static int near(int place, int in, int out, boolean align, boolean half) {
    float exact = (place + (half ? 0.5f : 0)) * step(in, out, align);
    return Math.clamp(align ? Math.round(exact) : (int) Math.floor(exact), 0, in - 1);
  }

  private static Result bilinear(Call call) {
    Image in = Image.of(call.in(0).shape(), call.bool(3, false));
    Image out = resized(call, in);
    boolean align = call.bool(4, false);
    boolean half = call.bool(5, false);
    Bounds from = call.in(0).real();
    Bounds mixed = Bounds.empty(out.size());
    double[] slack = new double[out.size()];
    out.each(
        (b, y, x, c) -> {
          float exactY = between(y, step(in.height(), out.height(), align), half);
          float exactX = between(x, step(in.width(), out.width(), align), half);
          int top = Math.clamp((int) Math.floor(exactY), 0, in.height() - 1);
          int left = Math.clamp((int) Math.floor(exactX), 0, in.width() - 1);
          int bottom = Math.min((int) Math.floor(exactY) + 1, in.height() - 1);
          int right = Math.min((int) Math.floor(exactX) + 1, in.width() - 1);
          double dy = exactY - Math.floor(exactY);
          double dx = exactX - Math.floor(exactX);
          int[] corners = {
            in.at(b, top, left, c),
            in.at(b, top, right, c),
            in.at(b, bottom, left, c),
            in.at(b, bottom, right, c)
          };
          double[] weights = {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx};
          double low = 0;
          double middle = 0;
          double high = 0;
          double most = 0;
          for (int i = 0; i < corners.length; i++) {
            low += weights[i] * from.low()[corners[i]];
            middle += weights[i] * from.middle()[corners[i]];
            high += weights[i] * from.high()[corners[i]];
            most = Math.max(most, Math.abs(from.middle()[corners[i]]));
          }
          int at = out.at(b, y, x, c);
          mixed.set(at, low, middle, high);
          // A coordinate in float32 is off by some units in its last place.
          slack[at] = most * 0x8p-23 * Math.max(in.height(), in.width());
        });
    return Result.rounded(out.shape(), mixed, slack);
  }

  private static float between(int place, float step, boolean half) {
    return half ? Math.max(0, (place + 0.5f) * step - 0.5f) : place * step;
  }
}
