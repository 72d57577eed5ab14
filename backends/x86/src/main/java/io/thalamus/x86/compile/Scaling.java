// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.IntRange;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.x86.asm.Length;
import io.thalamus.x86.kernel.Factor;
import io.thalamus.x86.kernel.Rescale;
import io.thalamus.x86.kernel.Rescale.Numbers;
import java.nio.ByteBuffer;
import java.util.List;

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

  /** The numbers of one channel. */
  private record Channel(int first, long rounding, int half, int last) {}

  static Scaling of(List<Requantization> factors, int zeroPoint, IntRange range) {
    boolean isAway =
        range.min() < zeroPoint
            && factors.stream().anyMatch(f -> f.rounding() == Rounding.DOUBLE && f.shift() < 0);
    List<Channel> channels = factors.stream().map(factor -> channel(factor, isAway)).toList();
    return new Scaling(
        factors,
        channels,
        new Rescale(
            channels.stream().anyMatch(channel -> channel.first() != 0),
            isAway,
            channels.stream().anyMatch(channel -> channel.half() == 0),
            channels.stream().anyMatch(channel -> channel.last() != 0),
            zeroPoint,
            range.min(),
            range.max()));
  }

  /** The numbers of a factor that is the same for all elements. */
  static Factor factor(Requantization factor, int zeroPoint, IntRange range) {
    Scaling scaling = of(List.of(factor), zeroPoint, range);
    Channel channel = scaling.channels.getFirst();
    return new Factor(
        scaling.rescale,
        channel.first(),
        factor.multiplier(),
        channel.rounding(),
        channel.half(),
        channel.last());
  }

  Rescale rescale() {
    return rescale;
  }

  /** Returns whether sums up to a size, of either sign, can be rescaled without an overflow. */
  static boolean isPossible(List<Requantization> factors, long largest) {
    for (Requantization factor : factors) {
      // A second rounding may be apart from the first one.
      int left = Math.max(channel(factor, false).first(), channel(factor, true).first());
      if (left > 30 || largest << left > Integer.MAX_VALUE) {
        return false;
      }
    }
    return true;
  }

  private static Channel channel(Requantization factor, boolean isAway) {
    int right = Math.max(-factor.shift(), 0);
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
   * @param vectors of the panel, pairs of which hold the channels
   */
  void write(ByteBuffer to, Length length, int vectors, int first, int count, int[] bias) {
    int lanes = length.bytes() / Integer.BYTES;
    int pair = Rescale.pair(length);
    int bytes = vectors * length.bytes();
    int at = to.position();
    for (Numbers numbers : Numbers.values()) {
      if (!rescale.has(numbers)) {
        continue;
      }
      for (int c = 0; c < count; c++) {
        Requantization factor = factors.get(first + c);
        Channel channel = channels.get(first + c);
        int element = c / pair * 2 * lanes + Rescale.position(length, c % pair);
        int own = at + element * Integer.BYTES;
        int even = at + element / 2 * Long.BYTES;
        boolean isOdd = element % 2 == 1;
        switch (numbers) {
          case BIAS -> to.putInt(own, bias[c]);
          case MANTISSA -> to.putInt(own, factor.multiplier());
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
          case FIRST_SHIFT -> to.putInt(own, channel.first());
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
