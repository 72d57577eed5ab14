// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Tolerance;
import io.thalamus.tck.reference.Result.Rounding;

/**
 * The storing of results as elements of a type, with {@link Tolerance AOSP's tolerances} for single
 * operations, as conformance vectors have them.
 */
final class Numbers {
  private Numbers() {}

  static boolean isQuantized(OperandCode type) {
    return switch (type) {
      case TENSOR_QUANT8_ASYMM,
          TENSOR_QUANT8_ASYMM_SIGNED,
          TENSOR_QUANT8_SYMM,
          TENSOR_QUANT16_ASYMM,
          TENSOR_QUANT16_SYMM ->
          true;
      default -> false;
    };
  }

  /** Returns what an output of this type holds. */
  static Tensor store(OperandCode type, double scale, int zeroPoint, Result result) {
    Bounds real = result.real();
    Bounds kept = Bounds.empty(real.size());
    for (int i = 0; i < real.size(); i++) {
      double slack = result.slack() == null ? 0 : result.slack()[i];
      switch (type) {
        case FLOAT32, TENSOR_FLOAT32, FLOAT16, TENSOR_FLOAT16 ->
            keepFloat(kept, i, result, slack, Tolerance.of(type, false));
        case TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED,
            TENSOR_QUANT8_SYMM,
            TENSOR_QUANT16_ASYMM,
            TENSOR_QUANT16_SYMM ->
            keepQuantized(kept, i, type, scale, zeroPoint, result);
        default -> kept.copy(i, real, i);
      }
    }
    return new Tensor(type, result.shape(), scale, zeroPoint, kept);
  }

  private static void keepFloat(
      Bounds kept, int i, Result result, double slack, Tolerance tolerance) {
    Bounds real = result.real();
    if (result.rounding() == Rounding.EXACT) {
      kept.copy(i, real, i);
      return;
    }
    kept.set(
        i,
        real.low()[i] - tolerance.margin(real.low()[i]) - slack,
        real.middle()[i],
        real.high()[i] + tolerance.margin(real.high()[i]) + slack);
  }

  private static void keepQuantized(
      Bounds kept, int i, OperandCode type, double scale, int zeroPoint, Result result) {
    Bounds real = result.real();
    int steps = result.rounding() == Rounding.EXACT ? 0 : 1;
    kept.set(
        i,
        scale * (step(type, scale, zeroPoint, real.low()[i], -steps) - zeroPoint),
        scale * (step(type, scale, zeroPoint, real.middle()[i], 0) - zeroPoint),
        scale * (step(type, scale, zeroPoint, real.high()[i], steps) - zeroPoint));
  }

  private static double step(
      OperandCode type, double scale, int zeroPoint, double real, int steps) {
    // Wrong by far less than a step, as float32 scales are in this quotient.
    double stored = Math.rint(real / scale) + zeroPoint + steps;
    Elements elements = Elements.of(type);
    return Math.clamp(stored, elements.least(), elements.most());
  }
}
