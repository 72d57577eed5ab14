// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.model.OperandCode;
import java.util.Random;

/** Between which real values the elements of a new tensor lie. */
record Range(double low, double high) {
  /** Any values that suit the type. */
  static final Range USUAL = new Range(-3, 3);

  static final Range POSITIVE = new Range(0.25, 4);
  static final Range NOT_ZERO = new Range(0.5, 3);

  /** All integers of 32 bits. */
  static final Range WHOLE = new Range(Integer.MIN_VALUE, Integer.MAX_VALUE);

  private static final int USUAL_INT = 50;

  /** A random element as it is stored. */
  double stored(OperandCode type, Quant quant, Random random) {
    double real = low + (high - low) * random.nextDouble();
    return switch (type) {
      case TENSOR_FLOAT32 -> (float) real;
      case TENSOR_FLOAT16 -> Float.float16ToFloat(Float.floatToFloat16((float) real));
      case TENSOR_INT32 ->
          this.equals(USUAL)
              ? random.nextInt(2 * USUAL_INT + 1) - USUAL_INT
              : Math.max(Math.ceil(low), Math.rint(real));
      case TENSOR_BOOL8 -> random.nextInt(2);
      case TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED ->
          this.equals(USUAL)
              ? Quant.least(type) + random.nextInt(256)
              : Math.clamp(
                  Math.rint(real / quant.scale()) + quant.zeroPoint(),
                  Quant.least(type),
                  Quant.least(type) + 255);
      default -> throw new IllegalArgumentException("no values for " + type);
    };
  }
}
