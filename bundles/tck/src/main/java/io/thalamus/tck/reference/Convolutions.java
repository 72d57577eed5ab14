// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Map;

/**
 * Convolutions, FULLY_CONNECTED and MATMUL_INTEGER. Filters are [out, height, width, in] but for
 * depthwise.
 */
final class Convolutions {
  private Convolutions() {}

  static void register(Map<String, Formula> formulas) {
    formulas.put("CONV_2D", Formula.single(call -> forward(call, Kind.PLAIN)));
    formulas.put("DEPTHWISE_CONV_2D", Formula.single(call -> forward(call, Kind.DEPTHWISE)));
    formulas.put("GROUPED_CONV_2D", Formula.single(call -> forward(call, Kind.GROUPED)));
    formulas.put("TRANSPOSE_CONV_2D", Formula.single(Convolutions::transposed));
    formulas.put("FULLY_CONNECTED", Formula.single(Convolutions::fullyConnected));
    formulas.put(
        Evaluator.name(ThalamusExtension.MATMUL_INTEGER),
        Formula.single(Convolutions::matmulInteger));
  }

  private enum Kind {
    PLAIN,
    DEPTHWISE,
    GROUPED
  }

  private static boolean isExplicit(Call call, Kind kind) {
    // What stands where the layout would be with implicit padding.
    int layout = kind == Kind.PLAIN ? 7 : 8;
    return call.inputs().size() >= layout + 3 && call.in(layout).type() != OperandCode.BOOL;
  }

  private static Result forward(Call call, Kind kind) {
    boolean explicit = isExplicit(call, kind);
    int own = 3 + (explicit ? 6 : 3);
    int activation = own + (kind == Kind.PLAIN ? 0 : 1);
    Image in = Image.of(call.in(0).shape(), call.bool(activation + 1, false));
    int[] filter = call.in(1).shape();
    Windows windows =
        Windows.read(
            call,
            3,
            explicit,
            in,
            filter[1],
            filter[2],
            call.int32(activation + 3, 1),
            call.int32(activation + 2, 1));
    int channels = kind == Kind.DEPTHWISE ? filter[3] : filter[0];
    int groups =
        switch (kind) {
          case PLAIN -> 1;
          case DEPTHWISE -> in.channels();
          case GROUPED -> call.int32(own);
        };
    int perGroup = in.channels() / groups;
    checkFilter(call, channels, filter, kind == Kind.DEPTHWISE ? 1 : perGroup);
    Image out =
        in.with(in.batches(), windows.vertical().out(), windows.horizontal().out(), channels);
    Bounds sums = Bounds.empty(out.size());
    double[] slack = new double[out.size()];
    out.each(
        (b, y, x, c) -> {
          Sum sum = new Sum();
          int firstChannel = c / (channels / groups) * perGroup;
          for (int i = 0; i < filter[1]; i++) {
            int fromY = windows.vertical().cell(y, i);
            for (int j = 0; j < filter[2]; j++) {
              int fromX = windows.horizontal().cell(x, j);
              if (in.holds(fromY, fromX)) {
                for (int k = 0; k < perGroup; k++) {
                  sum.add(
                      call.in(0).real(),
                      in.at(b, fromY, fromX, firstChannel + k),
                      call.in(1).real(),
                      kind == Kind.DEPTHWISE
                          ? Movements.element(filter, 0, i, j, c)
                          : Movements.element(filter, c, i, j, k));
                }
              }
            }
          }
          sum.add(call.in(2).real(), c);
          sum.store(sums, slack, out.at(b, y, x, c), 1);
        });
    return Result.rounded(out.shape(), Activations.clamp(call.int32(activation), sums), slack);
  }

  private static void checkFilter(Call call, int channels, int[] filter, int perGroup) {
    boolean depthwise = perGroup == 1 && filter[0] == 1 && filter[3] == channels;
    if (call.in(2).size() != channels || (!depthwise && filter[3] != perGroup)) {
      throw new IllegalArgumentException("filter and bias do not fit");
    }
  }

  private static Result transposed(Call call) {
    boolean explicit = call.inputs().size() == 11;
    int activation = explicit ? 9 : 7;
    Image in = Image.of(call.in(0).shape(), call.bool(activation + 1, false));
    int[] filter = call.in(1).shape();
    checkFilter(call, filter[0], filter, in.channels());
    int strideWidth = call.int32(activation - 2);
    int strideHeight = call.int32(activation - 1);
    int top;
    int left;
    Image out;
    if (explicit) {
      left = call.int32(3);
      top = call.int32(5);
      out =
          in.with(
              in.batches(),
              (in.height() - 1) * strideHeight + filter[1] - top - call.int32(6),
              (in.width() - 1) * strideWidth + filter[2] - left - call.int32(4),
              filter[0]);
    } else {
      Image wanted = Image.of(call.ints(3), in.nchw());
      int scheme = call.int32(4);
      // The padding that a convolution from output to input would have.
      top = Windows.Line.of(wanted.height(), filter[1], strideHeight, 1, scheme).before();
      left = Windows.Line.of(wanted.width(), filter[2], strideWidth, 1, scheme).before();
      out = in.with(in.batches(), wanted.height(), wanted.width(), filter[0]);
    }
    Sum[] sums = new Sum[out.size()];
    for (int i = 0; i < sums.length; i++) {
      sums[i] = new Sum();
    }
    in.each(
        (b, y, x, k) -> {
          for (int i = 0; i < filter[1]; i++) {
            for (int j = 0; j < filter[2]; j++) {
              int toY = y * strideHeight + i - top;
              int toX = x * strideWidth + j - left;
              if (out.holds(toY, toX)) {
                for (int c = 0; c < filter[0]; c++) {
                  sums[out.at(b, toY, toX, c)].add(
                      call.in(0).real(),
                      in.at(b, y, x, k),
                      call.in(1).real(),
                      Movements.element(filter, c, i, j, k));
                }
              }
            }
          }
        });
    Bounds result = Bounds.empty(out.size());
    double[] slack = new double[out.size()];
    out.each(
        (b, y, x, c) -> {
          Sum sum = sums[out.at(b, y, x, c)];
          sum.add(call.in(2).real(), c);
          sum.store(result, slack, out.at(b, y, x, c), 1);
        });
    return Result.rounded(out.shape(), Activations.clamp(call.int32(activation), result), slack);
  }

  private static Result fullyConnected(Call call) {
    int units = call.in(1).shape()[0];
    int depth = call.in(1).shape()[1];
    int batches = call.in(0).size() / depth;
    int[] shape = {batches, units};
    if (call.in(0).size() % depth != 0 || call.in(2).size() != units) {
      throw new IllegalArgumentException("weights and bias do not fit");
    }
    Bounds sums = Bounds.empty(batches * units);
    double[] slack = new double[batches * units];
    for (int b = 0; b < batches; b++) {
      for (int u = 0; u < units; u++) {
        Sum sum = new Sum();
        for (int k = 0; k < depth; k++) {
          sum.add(call.in(0).real(), b * depth + k, call.in(1).real(), u * depth + k);
        }
        sum.add(call.in(2).real(), u);
        sum.store(sums, slack, b * units + u, 1);
      }
    }
    return Result.rounded(shape, Activations.clamp(call.int32(3), sums), slack);
  }

  private static Result matmulInteger(Call call) {
    int depth = call.in(1).shape()[0];
    int units = call.in(1).shape()[1];
    int[] shape = call.in(0).shape().clone();
    shape[shape.length - 1] = units;
    Bounds input = lessZeroPoint(call.in(0));
    Bounds weights = lessZeroPoint(call.in(1));
    Bounds sums = Bounds.empty(Tensor.elements(shape));
    double[] slack = new double[sums.size()];
    for (int i = 0; i < sums.size(); i++) {
      Sum sum = new Sum();
      for (int k = 0; k < depth; k++) {
        sum.add(input, i / units * depth + k, weights, k * units + i % units);
      }
      sum.store(sums, slack, i, 1);
    }
    return Result.exact(shape, sums);
  }

  private static Bounds lessZeroPoint(Tensor tensor) {
    return tensor.stored().monotone(stored -> stored - tensor.zeroPoint());
  }
}
