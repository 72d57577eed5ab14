// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.Accumulation;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.kernel.Factor;
import io.thalamus.x86.kernel.Rescale;
import io.thalamus.x86.kernel.Rescale.Numbers;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The numbers that make a {@link Rescale} equal to {@link Requantization#apply} for each channel.
 * Immutable.
 *
 * <p>With a shift to the left by {@code f}, the upper 32 bits of {@code (x << f) * m + r} are the
 * product rounded to nearest, ties up, if {@code r} is half of what is shifted out. Twice rounded,
 * ties of the second go away from zero, unless the least result is the zero point: then it does not
 * matter how negative products are rounded, and both are one.
 */
final class Scaling {
  private final List<Requantization> factors;
  private final List<Channel> channels;
  private final Rescale rescale;

  private Scaling(List<Requantization> factors, List<Channel> channels, Rescale rescale) {
    this.factors = factors;
    this.channels = channels;
    this.rescale = rescale;
  }

  /**
   * The numbers of one channel.
   *
   * @param first shift to the left; where sums go away from zero, the last one of it is a doubling
   */
  private record Channel(int first, long rounding, int half, int last) {
    Factor factor(Requantization factor, boolean isDoubled) {
      return new Factor(first - (isDoubled ? 1 : 0), mantissa(factor), rounding, half, last);
    }
  }

  private static int mantissa(Requantization factor) {
    return factor.rounding() == Rounding.EVEN
        ? Float.floatToRawIntBits(factor.factor())
        : factor.multiplier();
  }

  /** The numbers of sums that may have any size where {@link #isPossible} says so. */
  static Scaling of(List<Requantization> factors, int zeroPoint, IntRange range) {
    return of(factors, zeroPoint, range, true, false);
  }

  /**
   * Returns {@link #of} with a factor in the code if all channels have the same one. Less is read
   * for each result; but layers that differ in nothing else need a function each.
   */
  static Scaling inCode(List<Requantization> factors, int zeroPoint, IntRange range) {
    return of(
        factors, zeroPoint, range, true, factors.stream().allMatch(factors.getFirst()::equals));
  }

  private static Scaling of(
      List<Requantization> factors,
      int zeroPoint,
      IntRange range,
      boolean mayDouble,
      boolean isInCode) {
    boolean isAway = isAway(factors, zeroPoint, range);
    List<Channel> channels = factors.stream().map(factor -> channel(factor, isAway)).toList();
    boolean isDoubled = mayDouble && isAway;
    Requantization factor = factors.getFirst();
    return new Scaling(
        factors,
        channels,
        new Rescale(
            factor.rounding() == Rounding.EVEN,
            channels.stream().anyMatch(channel -> channel.first() > (isDoubled ? 1 : 0)),
            isDoubled,
            isAway,
            channels.stream().anyMatch(channel -> channel.half() == 0),
            channels.stream().anyMatch(channel -> channel.last() != 0),
            zeroPoint,
            range.min(),
            range.max(),
            isInCode
                ? Optional.of(channels.getFirst().factor(factor, isDoubled))
                : Optional.empty()));
  }

  /** Returns how elements are rescaled that have the same factor. */
  static Rescale factor(Requantization factor, int zeroPoint, IntRange range) {
    return of(List.of(factor), zeroPoint, range, false, true).rescale;
  }

  Rescale rescale() {
    return rescale;
  }

  private static boolean isAway(List<Requantization> factors, int zeroPoint, IntRange range) {
    return range.min() < zeroPoint
        && factors.stream().anyMatch(f -> f.rounding() == Rounding.DOUBLE && f.shift() < 0);
  }

  /** Returns whether values up to a size, of either sign, can be rescaled without an overflow. */
  static boolean isPossible(Requantization factor, long largest) {
    // A second rounding may be apart from the first one.
    return fits(largest, channel(factor, false).first())
        && fits(largest, channel(factor, true).first());
  }

  /**
   * Returns whether sums can be rescaled without an overflow. Sums themselves may overflow, as the
   * reference's do: a channel that is always 0 may have a bias that fills its 32 bits.
   *
   * @param bias by channel; empty for zeros
   * @param products the largest sum of products, of either sign
   */
  static boolean isPossible(Accumulation accumulation, int[] bias, long products) {
    List<Requantization> factors = accumulation.output();
    boolean isAway = isAway(factors, accumulation.outputZeroPoint(), accumulation.activation());
    for (int c = 0; c < factors.size(); c++) {
      Channel channel = channel(factors.get(c), isAway);
      long largest = products + (bias.length == 0 ? 0 : Math.abs((long) bias[c]));
      long rounded =
          (Math.min(largest, 1L << 31) * factors.get(c).multiplier() >> 31) + channel.half();
      int shift = channel.first() - (isAway ? 1 : 0);
      if (shift > 0 && !fits(largest, shift) || channel.half() > 0 && rounded > Integer.MAX_VALUE) {
        return false;
      }
    }
    return true;
  }

  private static boolean fits(long largest, int shift) {
    return shift <= 30 && largest << shift <= Integer.MAX_VALUE;
  }

  private static Channel channel(Requantization factor, boolean isAway) {
    int right = Math.max(-factor.shift(), 0);
    if (factor.multiplier() == 0 || factor.rounding() == Rounding.EVEN) {
      return new Channel(isAway ? 1 : 0, 0, 0, 0);
    }
    if (factor.rounding() == Rounding.DOUBLE) {
      if (isAway || right == 0) {
        int first = Math.max(factor.shift(), 0) + 1;
        return new Channel(first, 1L << 31, right == 0 ? 0 : 1 << (right - 1), right);
      }
      return new Channel(0, (1L << 30) + (1L << (30 + right)), 0, right - 1);
    }
    int total = 31 - factor.shift();
    return total >= Integer.SIZE
        ? new Channel(0, 1L << (total - 1), 0, total - Integer.SIZE)
        : new Channel(Integer.SIZE - total, 1L << 31, 0, 0);
  }

  /**
   * Writes the numbers of some channels.
   *
   * @param bias by channel from the first on
   * @param vectors of the panel, in the order of {@link Rescale#element}
   */
  void write(ByteBuffer to, Length length, int vectors, int first, int count, int[] bias) {
    int bytes = vectors * length.bytes();
    int at = to.position();
    int[] elements = new int[count];
    Arrays.setAll(elements, c -> Rescale.element(length, vectors, c));
    for (Numbers numbers : Numbers.values()) {
      if (!rescale.has(numbers)) {
        continue;
      }
      for (int c = 0; c < count; c++) {
        Requantization factor = factors.get(first + c);
        Channel channel = channels.get(first + c);
        int element = elements[c];
        int own = at + element * Integer.BYTES;
        int even = at + element / 2 * Long.BYTES;
        boolean isOdd = element % 2 == 1;
        switch (numbers) {
          case BIAS -> to.putInt(own, bias[c]);
          case MANTISSA -> to.putInt(own, mantissa(factor));
          case MANTISSA_ODD -> {
            if (isOdd) {
              to.putInt(even, factor.multiplier());
            }
          }
          case ROUNDING_EVEN -> {
            if (!isOdd) {
              to.putLong(even, channel.rounding());
            }
          }
          case ROUNDING_ODD -> {
            if (isOdd) {
              to.putLong(even, channel.rounding());
            }
          }
          case FIRST_SHIFT -> to.putInt(own, channel.first() - (rescale.isDoubled() ? 1 : 0));
          case HALF -> to.putInt(own, channel.half());
          case SIGN -> to.putInt(own, channel.half() == 0 ? 0 : -1);
          case LAST_SHIFT -> to.putInt(own, channel.last());
        }
      }
      at += bytes;
    }
    to.position(at);
  }
}
