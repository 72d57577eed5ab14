// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;

/** Functions of one element. */
final class Activations {
  private static final double HARD_SWISH_TURN = -1.5;
  private static final double HARD_SWISH_LEAST = -0.375;

  private Activations() {}

  static void register(Map<String, Formula> formulas) {
    formulas.put("ABS", Formula.single(call -> bent(call, Math::abs, 0, 0)));
    formulas.put("NEG", exact(value -> -value));
    formulas.put("EXP", rounded(Math::exp));
    formulas.put("LOG", rounded(Math::log));
    formulas.put("SQRT", rounded(Math::sqrt));
    formulas.put("RSQRT", rounded(value -> 1 / Math.sqrt(value)));
    formulas.put("SIN", Formula.single(Activations::sine));
    formulas.put("FLOOR", exact(Math::floor));
    formulas.put("LOGICAL_NOT", exact(value -> 1 - value));
    formulas.put("RELU", fused(1));
    formulas.put("RELU1", fused(2));
    formulas.put("RELU6", fused(3));
    formulas.put("TANH", rounded(Math::tanh));
    formulas.put("LOGISTIC", rounded(value -> 1 / (1 + Math.exp(-value))));
    formulas.put(
        "ELU",
        Formula.single(
            call -> {
              double alpha = call.number(1);
              return Result.rounded(
                  call.in(0).shape(),
                  call.in(0).real().monotone(x -> x > 0 ? x : alpha * Math.expm1(x)));
            }));
    formulas.put(
        "HARD_SWISH",
        Formula.single(
            call ->
                bent(
                    call,
                    value -> value * Math.clamp(value + 3, 0, 6) / 6,
                    HARD_SWISH_TURN,
                    HARD_SWISH_LEAST)));
    formulas.put("QUANTIZE", rounded(value -> value));
    formulas.put("DEQUANTIZE", rounded(value -> value));
    formulas.put("CAST", Formula.single(Activations::cast));
    formulas.put(Evaluator.name(ThalamusExtension.RESCALE), Formula.single(Activations::rescaled));
  }

  private static Formula exact(DoubleUnaryOperator function) {
    return Formula.single(
        call -> Result.exact(call.in(0).shape(), call.in(0).real().monotone(function)));
  }

  private static Formula rounded(DoubleUnaryOperator function) {
    return Formula.single(
        call -> Result.rounded(call.in(0).shape(), call.in(0).real().monotone(function)));
  }

  /** Clamping is exact but for the place of the limits among quantized values. */
  private static Formula fused(int activation) {
    return Formula.single(
        call -> {
          Bounds clamped = clamp(activation, call.in(0).real());
          return Numbers.isQuantized(call.type())
              ? Result.rounded(call.in(0).shape(), clamped)
              : Result.exact(call.in(0).shape(), clamped);
        });
  }

  /** A fused activation: NONE, RELU, RELU1, RELU6. */
  static Bounds clamp(int activation, Bounds bounds) {
    return switch (activation) {
      case 0 -> bounds;
      case 1 -> bounds.monotone(value -> Math.max(value, 0));
      case 2 -> bounds.monotone(value -> Math.clamp(value, -1, 1));
      case 3 -> bounds.monotone(value -> Math.clamp(value, 0, 6));
      default -> throw new UnsupportedOperationException("activation " + activation);
    };
  }

  /** A function that falls up to a turning point, where it has its least value, and rises then. */
  private static Result bent(Call call, DoubleUnaryOperator function, double turn, double least) {
    Bounds in = call.in(0).real();
    Bounds out = Bounds.empty(in.size());
    for (int i = 0; i < in.size(); i++) {
      double low = function.applyAsDouble(in.low()[i]);
      double high = function.applyAsDouble(in.high()[i]);
      boolean turns = in.low()[i] <= turn && turn <= in.high()[i];
      out.set(
          i,
          turns ? least : Math.min(low, high),
          function.applyAsDouble(in.middle()[i]),
          Math.max(low, high));
    }
    return Result.rounded(call.in(0).shape(), out);
  }

  private static Result sine(Call call) {
    Bounds in = call.in(0).real();
    Bounds out = Bounds.empty(in.size());
    for (int i = 0; i < in.size(); i++) {
      double low = in.low()[i];
      double high = in.high()[i];
      double a = Math.sin(low);
      double b = Math.sin(high);
      out.set(
          i,
          holds(low, high, -Math.PI / 2) ? -1 : Math.min(a, b),
          Math.sin(in.middle()[i]),
          holds(low, high, Math.PI / 2) ? 1 : Math.max(a, b));
    }
    return Result.rounded(call.in(0).shape(), out);
  }

  /** Returns whether some {@code place + 2 k pi} is within the bounds. */
  private static boolean holds(double low, double high, double place) {
    return Math.floor((high - place) / (2 * Math.PI)) >= Math.ceil((low - place) / (2 * Math.PI));
  }

  /** Rises with what is rescaled, unless that is shifted out of 32 bits. */
  private static Result rescaled(Call call) {
    int multiplier = call.int32(1);
    int shift = call.int32(2);
    Tensor input = call.in(0);
    Bounds in = input.stored().monotone(value -> value - input.zeroPoint());
    Bounds out = in.monotone(value -> rescaled((int) value, multiplier, shift));
    for (int i = 0; i < in.size(); i++) {
      double most = Math.scalb(Math.max(-in.low()[i], in.high()[i]), Math.max(shift, 0));
      if (!in.isExact(i) && most > Integer.MAX_VALUE) {
        out.set(i, Integer.MIN_VALUE, out.middle()[i], Integer.MAX_VALUE);
      }
    }
    int zeroPoint = call.out(0).zeroPoint();
    return stored(call, out.monotone(value -> value + zeroPoint));
  }

  /** A number times a mantissa of 31 bits, halves up, by a power of two, halves away from 0. */
  private static double rescaled(int value, int multiplier, int shift) {
    long shifted = shift > 0 ? value << shift : value;
    long product = Math.floorDiv(shifted * multiplier + (1L << 30), 1L << 31);
    double quotient = Math.scalb((double) product, Math.min(shift, 0));
    return Math.signum(quotient) * Math.floor(Math.abs(quotient) + 0.5);
  }

  /** Stored numbers are cast, whatever they stand for: towards zero, into the type's range. */
  private static Result cast(Call call) {
    Bounds stored = call.in(0).stored();
    return switch (call.type()) {
      case TENSOR_FLOAT32, TENSOR_FLOAT16 -> Result.rounded(call.in(0).shape(), stored);
      case TENSOR_BOOL8 -> Result.exact(call.in(0).shape(), stored);
      default ->
          stored(call, stored.monotone(value -> value < 0 ? Math.ceil(value) : Math.floor(value)));
    };
  }

  /** The nearest numbers that the type of the output stores, as what they stand for there. */
  private static Result stored(Call call, Bounds whole) {
    Call.Output output = call.out(0);
    Elements elements = Elements.of(output.type());
    double scale = output.type() == OperandCode.TENSOR_INT32 ? 1 : output.scale();
    return Result.exact(
        call.in(0).shape(),
        whole.monotone(
            value ->
                scale
                    * (Math.clamp(value, elements.least(), elements.most()) - output.zeroPoint())));
  }
}
