// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import io.thalamus.model.OperandCode;
import io.thalamus.tck.reference.Result.Rounding;

/**
 * How results become elements of a type. The tolerances are AOSP's for single operations, as
 * conformance vectors have them: {@code 1e-5 + 5 * 2^-23 * |x|} for float32, {@code 5 * 2^-10 * (1
 * + |x|)} for float16, one step for quantized types.
 */
final class Numbers {
  private static final double FLOAT32_ABSOLUTE = 1e-5;
  private static final double FLOAT32_RELATIVE = 0x5p-23;
  private static final double FLOAT16 = 0x5p-10;

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

  static int least(OperandCode type) {
    return switch (type) {
      case TENSOR_QUANT8_ASYMM, TENSOR_QUANT16_ASYMM -> 0;
      case TENSOR_QUANT16_SYMM -> Short.MIN_VALUE;
      case INT32, TENSOR_INT32 -> Integer.MIN_VALUE;
      default -> Byte.MIN_VALUE;
    };
  }

  static int most(OperandCode type) {
    return switch (type) {
      case TENSOR_QUANT8_ASYMM -> 0xFF;
      case TENSOR_QUANT16_ASYMM -> 0xFFFF;
      case TENSOR_QUANT16_SYMM -> Short.MAX_VALUE;
      case INT32, TENSOR_INT32 -> Integer.MAX_VALUE;
      default -> Byte.MAX_VALUE;
    };
  }

  /** What an output of this type holds. */
  static Tensor store(OperandCode type, double scale, int zeroPoint, Result result) {
    Bounds real = result.real();
    Bounds kept = Bounds.empty(real.size());
    for (int i = 0; i < real.size(); i++) {
      double slack = result.slack() == null ? 0 : result.slack()[i];
      switch (type) {
        case FLOAT32, TENSOR_FLOAT32 ->
            keepFloat(kept, i, result, slack, FLOAT32_ABSOLUTE, FLOAT32_RELATIVE);
        case FLOAT16, TENSOR_FLOAT16 -> keepFloat(kept, i, result, slack, FLOAT16, FLOAT16);
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
      Bounds kept, int i, Result result, double slack, double absolute, double relative) {
    Bounds real = result.real();
    if (result.rounding() == Rounding.EXACT) {
      kept.copy(i, real, i);
      return;
    }
    kept.set(
        i,
        real.low()[i] - absolute - relative * Math.abs(real.low()[i]) - slack,
        real.middle()[i],
        real.high()[i] + absolute + relative * Math.abs(real.high()[i]) + slack);
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
    return Math.clamp(stored, least(type), most(type));
  }
}
