// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import io.thalamus.operations.FloatRange;
import io.thalamus.operations.FusedActivation;

/**
 * A range of floats by their bits. Floats that are not negative are ordered as their bits are, and
 * negative ones have the least bits of all; hence one integer maximum and one minimum clamp to a
 * range from 0 on, while Float's maximum takes several instructions because of NaN. Bits say
 * nothing useful of NaN, so kernels blend it in afterwards: the result is NaN, as on the reference.
 *
 * @param low bits of the lower bound
 * @param high bits of the upper bound
 */
public record Clamp(int low, int high) {
  /** Changes nothing. */
  public static final Clamp NONE = new Clamp(Integer.MIN_VALUE, Integer.MAX_VALUE);

  /** Returns true if an activation can be applied so: its range begins at 0, or it has none. */
  public static boolean isPossible(FusedActivation activation) {
    return activation != FusedActivation.RELU1;
  }

  /** The clamp of an activation for which it is possible. */
  public static Clamp of(FusedActivation activation) {
    FloatRange range = activation.range();
    if (activation == FusedActivation.NONE) {
      return NONE;
    }
    return new Clamp(Float.floatToRawIntBits(range.min()), Float.floatToRawIntBits(range.max()));
  }

  /** Returns the clamped value, or NaN for NaN: the scalar twin of the vector kernels. */
  public float apply(float value) {
    return apply(value, low, high);
  }

  /** As {@link #apply(float)}. */
  static float apply(float value, int low, int high) {
    return Float.isNaN(value)
        ? value
        : Float.intBitsToFloat(Math.min(Math.max(Float.floatToRawIntBits(value), low), high));
  }
}
