// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Length;
import java.util.Arrays;

/**
 * A factor that is the same for all elements: the numbers of a {@link Rescale}, in the code.
 *
 * @param first shift to the left
 * @param mantissa multiplied with
 * @param rounding added to the product
 * @param half of what the second rounding divides by
 * @param last shift to the right
 */
public record Factor(int first, int mantissa, long rounding, int half, int last) {
  /** Returns a vector of a number in the code. */
  Address at(Rescale.Numbers numbers, Emitter emitter, Length length) {
    int[] words = new int[length.bytes() / Integer.BYTES];
    switch (numbers) {
      case BIAS -> throw new IllegalArgumentException("a factor has no bias");
      case MANTISSA, MANTISSA_ODD -> Arrays.fill(words, mantissa);
      case ROUNDING_EVEN, ROUNDING_ODD -> {
        for (int i = 0; i < words.length; i++) {
          words[i] = (int) (i % 2 == 0 ? rounding : rounding >>> Integer.SIZE);
        }
      }
      case FIRST_SHIFT -> Arrays.fill(words, first);
      case HALF -> Arrays.fill(words, half);
      case SIGN -> Arrays.fill(words, half == 0 ? 0 : -1);
      case LAST_SHIFT -> Arrays.fill(words, last);
    }
    return Address.at(emitter.assembler().constant(words));
  }
}
