// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import java.util.Map;

/** Operations that set elements in relation to their neighbours along an axis. */
final class Normalizations {
  private Normalizations() {}

  static void register(Map<String, Formula> formulas) {
    formulas.put("SOFTMAX", Formula.single(call -> softmax(call, call.int32(2, -1), false)));
    formulas.put("LOG_SOFTMAX", Formula.single(call -> softmax(call, call.int32(2), true)));
    formulas.put("L2_NORMALIZATION", Formula.single(Normalizations::l2));
    formulas.put("LOCAL_RESPONSE_NORMALIZATION", Formula.single(Normalizations::localResponse));
    formulas.put("INSTANCE_NORMALIZATION", Formula.single(Normalizations::instance));
  }

  private static Result softmax(Call call, int axis, boolean logarithm) {
    int[] shape = call.in(0).shape();
    double beta = call.number(1);
    Bounds in = call.in(0).real();
    Bounds out = Bounds.empty(in.size());
    Lines.of(shape, Call.axis(axis, shape.length))
        .each(
            elements -> {
              for (int one : elements) {
                // The share rises with the element itself and falls with all others.
                double low = share(in.low(), in.high(), elements, one, beta);
                double middle = share(in.middle(), in.middle(), elements, one, beta);
                double high = share(in.high(), in.low(), elements, one, beta);
                if (logarithm) {
                  out.set(one, low, middle, high);
                } else {
                  out.set(one, Math.exp(low), Math.exp(middle), Math.exp(high));
                }
              }
            });
    return Result.rounded(shape, out);
  }

  /** The logarithm of {@code exp(beta x) / sum exp(beta y)}. */
  private static double share(double[] own, double[] others, int[] elements, int one, double beta) {
    double most = own[one] * beta;
    for (int element : elements) {
      most = Math.max(most, beta * (element == one ? own[element] : others[element]));
    }
    double sum = 0;
    for (int element : elements) {
      sum += Math.exp(beta * (element == one ? own[element] : others[element]) - most);
    }
    return own[one] * beta - most - Math.log(sum);
  }

  /** {@code a / b} for positive b. */
  private static void setQuotient(
      Bounds out, int at, Bounds a, int element, double low, double middle, double high) {
    double numberLow = a.low()[element];
    double numberHigh = a.high()[element];
    out.set(
        at,
        numberLow / (numberLow < 0 ? low : high),
        middle == 0 ? 0 : a.middle()[element] / middle,
        numberHigh / (numberHigh < 0 ? high : low));
  }

  private static Result l2(Call call) {
    int[] shape = call.in(0).shape();
    Bounds in = call.in(0).real();
    Bounds squares = Pools.squares(in);
    Bounds out = Bounds.empty(in.size());
    Lines.of(shape, Call.axis(call.int32(1, -1), shape.length))
        .each(
            elements -> {
              double low = 0;
              double middle = 0;
              double high = 0;
              for (int element : elements) {
                low += squares.low()[element];
                middle += squares.middle()[element];
                high += squares.high()[element];
              }
              for (int element : elements) {
                setQuotient(
                    out, element, in, element, Math.sqrt(low), Math.sqrt(middle), Math.sqrt(high));
                out.set(
                    element,
                    Math.max(-1, out.low()[element]),
                    out.middle()[element],
                    Math.min(1, out.high()[element]));
              }
            });
    return Result.rounded(shape, out);
  }

  private static Result localResponse(Call call) {
    int[] shape = call.in(0).shape();
    int radius = call.int32(1);
    double bias = call.number(2);
    double alpha = call.number(3);
    double beta = call.number(4);
    Bounds in = call.in(0).real();
    Bounds squares = Pools.squares(in);
    Bounds out = Bounds.empty(in.size());
    Lines.of(shape, Call.axis(call.int32(5, -1), shape.length))
        .each(
            elements -> {
              for (int i = 0; i < elements.length; i++) {
                double low = 0;
                double middle = 0;
                double high = 0;
                for (int j = Math.max(0, i - radius);
                    j <= Math.min(elements.length - 1, i + radius);
                    j++) {
                  low += squares.low()[elements[j]];
                  middle += squares.middle()[elements[j]];
                  high += squares.high()[elements[j]];
                }
                setQuotient(
                    out,
                    elements[i],
                    in,
                    elements[i],
                    Math.pow(bias + alpha * low, beta),
                    Math.pow(bias + alpha * middle, beta),
                    Math.pow(bias + alpha * high, beta));
              }
            });
    return Result.rounded(shape, out);
  }

  private static Result instance(Call call) {
    Image image = Image.of(call.in(0).shape(), call.bool(4, false));
    double gamma = call.number(1);
    double beta = call.number(2);
    double epsilon = call.number(3);
    Bounds in = call.in(0).real();
    Bounds out = Bounds.empty(in.size());
    int pixels = image.height() * image.width();
    Image.of(new int[] {image.batches(), 1, 1, image.channels()}, false)
        .each(
            (b, y0, x0, c) -> {
              int[] elements = new int[pixels];
              for (int i = 0; i < pixels; i++) {
                elements[i] = image.at(b, i / image.width(), i % image.width(), c);
              }
              normalize(in, out, elements, gamma, beta, epsilon);
            });
    return Result.rounded(image.shape(), out);
  }

  private static void normalize(
      Bounds in, Bounds out, int[] elements, double gamma, double beta, double epsilon) {
    Bounds mean = Bounds.empty(1);
    double[] ignored = new double[1];
    Sum sum = new Sum();
    for (int element : elements) {
      sum.add(in, element);
    }
    sum.store(mean, ignored, 0, elements.length);
    Bounds apart = Bounds.empty(elements.length);
    for (int i = 0; i < elements.length; i++) {
      apart.setCorners(i, in, elements[i], mean, 0, (a, b) -> a - b);
    }
    Bounds squares = Pools.squares(apart);
    Bounds variance = Bounds.empty(1);
    Sum squared = new Sum();
    for (int i = 0; i < elements.length; i++) {
      squared.add(squares, i);
    }
    squared.store(variance, ignored, 0, elements.length);
    Bounds scaled = Bounds.empty(1);
    for (int i = 0; i < elements.length; i++) {
      setQuotient(
          scaled,
          0,
          apart,
          i,
          Math.sqrt(variance.low()[0] + epsilon),
          Math.sqrt(variance.middle()[0] + epsilon),
          Math.sqrt(variance.high()[0] + epsilon));
      out.set(
          elements[i],
          scaled.low()[0] * gamma + beta,
          scaled.middle()[0] * gamma + beta,
          scaled.high()[0] * gamma + beta);
    }
  }
}
