// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * One factor for all elements, with gemmlowp's two roundings; the vector twin of {@link
 * Requantization#apply}. See {@link Requantizer} for the arithmetic. Immutable.
 *
 * @param mantissa of the factor's magnitude
 * @param isNegative whether the value's sign is changed first, which gives the same product
 * @param shift to the right
 * @param half of 2^shift
 * @param sign -1 where there is a second rounding, else 0
 */
public record Factor(int mantissa, boolean isNegative, int shift, int half, int sign) {
  /** Returns true if whole vectors can be multiplied by a factor: below 1, rounded twice. */
  public static boolean isPossible(Requantization factor) {
    return factor.rounding() == Rounding.DOUBLE && factor.shift() <= 0 && factor.shift() >= -31;
  }

  /** A factor for which it is possible. */
  public static Factor of(Requantization factor) {
    int shift = -factor.shift();
    return new Factor(
        Math.abs(factor.multiplier()),
        factor.multiplier() < 0,
        shift,
        shift == 0 ? 0 : 1 << (shift - 1),
        shift == 0 ? 0 : -1);
  }

  /** The products with values of a magnitude below 2^30. */
  public IntVector apply(IntVector values) {
    IntVector signed = isNegative ? values.neg() : values;
    IntVector factor = IntVector.broadcast(Lanes.INTS, mantissa);
    IntVector product = Requantizer.multiply(signed, factor, Requantizer.FIRST_HALF);
    return product
        .add(half)
        .add(product.lanewise(VectorOperators.ASHR, 31).and(sign))
        .lanewise(VectorOperators.ASHR, shift);
  }
}
