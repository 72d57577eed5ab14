// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.Arrays;
import java.util.function.DoubleUnaryOperator;

/**
 * Windows, spectra and filters of sound. A spectrum of a known length is a product with a matrix of
 * cosines and sines, in which real and imaginary parts take turns.
 */
final class Signals {
  private static final double MEL_SCALE = 2595;
  private static final double MEL_CORNER = 700;

  private Signals() {}

  static void addTo(Converters table) {
    table.add("HannWindow", node -> window(node, x -> 0.5 - 0.5 * Math.cos(x)));
    table.add("HammingWindow", node -> window(node, x -> (25 - 21 * Math.cos(x)) / 46));
    table.add(
        "BlackmanWindow",
        node -> window(node, x -> 0.42 - 0.5 * Math.cos(x) + 0.08 * Math.cos(2 * x)));
    table.add("DFT", Signals::transform);
    table.add("STFT", Signals::frames);
    table.add("MelWeightMatrix", Signals::mel);
  }

  private static void window(Node node, DoubleUnaryOperator form) {
    int size = node.isKnown(0) ? node.onlyInt(0) : node.stated(0, 0)[0];
    node.require(size > 0, "it has " + size + " numbers");
    int period = node.flag("periodic", true) ? size : size - 1;
    double[] values = node.ops().budget().doubles(size);
    Arrays.setAll(values, i -> form.applyAsDouble(2 * Math.PI * i / Math.max(1, period)));
    DataType type = node.type("output_datatype", DataType.FLOAT);
    node.out(node.ops().constant(type, new int[] {size}, values));
  }

  /**
   * What a transform does to rows: {@code length} numbers of one or two parts, of which it reads at
   * most as many as it is long, become {@code bins}.
   *
   * @param inputs numbers in a row
   * @param parts 1 where they are real, else 2
   */
  private record Matrix(int inputs, int parts, int length, int bins, boolean isInverse) {
    /** The matrix; rows of a window are multiplied by its numbers. */
    Value value(Ops ops, double[] window) {
      boolean isHalf = isInverse && bins < 0;
      int results = isHalf ? length : bins;
      int kinds = isHalf ? 1 : 2;
      int width = Math.multiplyExact(results, kinds);
      double[] values = ops.budget().doubles(Math.multiplyExact(inputs * parts, width));
      double sign = isInverse ? 1 : -1;
      for (int i = 0; i < Math.min(inputs, length); i++) {
        double factor = window == null ? 1 : window[i];
        factor = isInverse ? factor / length : factor;
        boolean isTwice = isHalf && i > 0 && 2 * i < length;
        factor = isTwice ? 2 * factor : factor;
        for (int k = 0; k < results; k++) {
          double angle = sign * 2 * Math.PI * ((long) i * k % length) / length;
          int place = i * parts * width + k * kinds;
          values[place] = factor * Math.cos(angle);
          if (kinds == 2) {
            values[place + 1] = factor * Math.sin(angle);
          }
          if (parts == 2) {
            values[place + width] = -factor * Math.sin(angle);
          }
          if (parts == 2 && kinds == 2) {
            values[place + width + 1] = factor * Math.cos(angle);
          }
        }
      }
      return ops.constant(DataType.FLOAT, new int[] {inputs * parts, width}, values);
    }
  }

  /** The half of a spectrum that says all of real numbers becomes real numbers again. */
  private static void transform(Node node) {
    Ops ops = node.ops();
    Value value = ops.cast(node.in(0), DataType.FLOAT);
    int rank = value.rank();
    boolean isNew = node.opset() >= 20;
    int given = isNew ? node.has(2) ? node.onlyInt(2) : -2 : node.setting("axis", 1);
    int axis = node.axis(given, rank);
    int parts = value.dim(rank - 1);
    node.require(
        rank > 1 && axis < rank - 1 && (parts == 1 || parts == 2),
        value.text() + " has no real and imaginary parts in its last dimension");
    boolean isInverse = node.flag("inverse", false);
    boolean isOneSided = node.flag("onesided", false);
    boolean isHalf = isInverse && isOneSided;
    int size = value.dim(axis);
    int length = node.has(1) ? node.onlyInt(1) : isHalf ? 2 * (size - 1) : size;
    node.require(length > 0 && size > 0, "it is " + length + " long");
    int bins = isHalf ? -1 : isOneSided ? length / 2 + 1 : length;
    Value matrix = new Matrix(size, parts, length, bins, isInverse).value(ops, null);
    Value turned = ops.toEnd(value, axis, rank - 1);
    int[] outer = Arrays.copyOf(turned.shape(), rank - 2);
    Value rows = ops.reshape(turned, Dims.count(outer), size * parts);
    int results = isHalf ? length : bins;
    int[] shape = Dims.join(outer, new int[] {results, isHalf ? 1 : 2});
    Value result = ops.reshape(ops.matmul(rows, matrix), shape);
    int[] back = Dims.range(rank);
    for (int i = axis; i < rank - 1; i++) {
      back[i] = i == axis ? rank - 2 : i - 1;
    }
    node.out(ops.cast(ops.transpose(result, back), node.in(0).type()));
  }

  /** Parts of a signal that overlap, each with its spectrum. */
  private static void frames(Node node) {
    Ops ops = node.ops();
    Value signal = ops.cast(node.in(0), DataType.FLOAT);
    node.require(signal.rank() == 2 || signal.rank() == 3, signal.text() + " is no signal");
    int parts = signal.rank() == 3 ? signal.dim(2) : 1;
    int step = node.onlyInt(1);
    int length = node.has(3) ? node.onlyInt(3) : node.has(2) ? node.in(2).count() : 0;
    node.require(
        step > 0
            && length > 0
            && length <= signal.dim(1)
            && (parts == 1 || parts == 2)
            && (!node.has(2) || node.in(2).count() == length),
        "it takes %s numbers in steps of %s of %s".formatted(length, step, signal.text()));
    int count = (signal.dim(1) - length) / step + 1;
    int bins = node.flag("onesided", true) ? length / 2 + 1 : length;
    int batch = signal.dim(0);
    Value flat = ops.reshape(signal, batch, signal.dim(1) * parts);
    Value rows =
        ops.view(
            flat,
            new int[] {batch, count, length * parts},
            new int[] {signal.dim(1) * parts, step * parts, 1},
            0);
    double[] window = null;
    if (node.isKnown(2)) {
      window = ops.budget().doubles(length);
      for (int i = 0; i < length; i++) {
        window[i] = node.known(2).number(i);
      }
    } else if (node.has(2)) {
      Value factors = ops.reshape(ops.cast(node.in(2), DataType.FLOAT), length, 1);
      Value each = ops.expand(factors, length, parts);
      rows = ops.mul(rows, ops.reshape(each, 1, 1, length * parts));
    }
    Value matrix = new Matrix(length, parts, length, bins, false).value(ops, window);
    Value result = ops.reshape(ops.matmul(rows, matrix), batch, count, bins, 2);
    node.out(ops.cast(result, node.in(0).type()));
  }

  /** Triangles over the bins of a spectrum, evenly spaced as people hear them. */
  private static void mel(Node node) {
    int filters = node.onlyInt(0);
    int length = node.onlyInt(1);
    int rate = node.onlyInt(2);
    double low = pitch(node.onlyNumber(3));
    double high = pitch(node.onlyNumber(4));
    node.require(
        filters > 0 && length > 0 && rate > 0,
        "it makes %s filters for %s numbers".formatted(filters, length));
    int bins = length / 2 + 1;
    int[] places = node.ops().budget().ints(Math.addExact(filters, 2));
    for (int i = 0; i < places.length; i++) {
      double heard = low + i * (high - low) / places.length;
      double hertz = MEL_CORNER * (Math.pow(10, heard / MEL_SCALE) - 1);
      places[i] = (int) Math.floor((length + 1) * hertz / rate);
      node.require(places[i] >= 0 && places[i] <= bins, "its edges are outside of the spectrum");
    }
    double[] values = node.ops().budget().doubles(Math.multiplyExact(bins, filters));
    for (int i = 0; i < filters; i++) {
      int center = places[i + 1];
      int rise = center - places[i];
      int fall = places[i + 2] - center;
      for (int bin = places[i]; bin <= Math.min(center, bins - 1); bin++) {
        values[bin * filters + i] = rise == 0 ? 1 : (double) (bin - places[i]) / rise;
      }
      for (int bin = center; bin < places[i + 2]; bin++) {
        values[bin * filters + i] = (double) (places[i + 2] - bin) / fall;
      }
    }
    DataType type = node.type("output_datatype", DataType.FLOAT);
    node.out(node.ops().constant(type, new int[] {bins, filters}, values));
  }

  private static double pitch(double hertz) {
    return MEL_SCALE * Math.log10(1 + hertz / MEL_CORNER);
  }
}
