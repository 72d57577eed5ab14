// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import java.util.Arrays;

/**
 * The packing of weights, without loss: Rice codes of each weight's distance from a center. Weights
 * of trained networks lie around 0, so that most take fewer than 8 bits. Stateless.
 *
 * <pre>
 * byte 0    parameter k, 0 to 7; or 8: the bytes follow as they are
 * byte 1    center
 * then      bits, the lowest of each byte first. By weight, with d = weight - center and
 *           u = d &lt; 0 ? -2d - 1 : 2d: u >> k ones and a zero, the k low bits of u.
 *           Where u >> k is 15 or more: 15 ones, and the weight in 8 bits.
 * </pre>
 */
public final class WeightCodec {
  private static final int HEAD = 2;
  private static final int PLAIN = 8;
  private static final int ESCAPE = 15;

  /** Bits of the longest code. */
  private static final int LONGEST = ESCAPE + 8;

  private WeightCodec() {}

  /** Packs weights around a center. */
  public static byte[] pack(byte[] weights, int center) {
    byte middle = (byte) center;
    int[] counts = counts(weights, middle);
    int best = PLAIN;
    for (int k = 0; k < PLAIN; k++) {
      if (bits(counts, k) < bits(counts, best)) {
        best = k;
      }
    }
    byte[] packed = new byte[size(bits(counts, best))];
    packed[0] = (byte) best;
    packed[1] = middle;
    if (best == PLAIN) {
      System.arraycopy(weights, 0, packed, HEAD, weights.length);
    } else {
      write(weights, middle, best, packed);
    }
    return packed;
  }

  /** The bytes that {@link #pack} makes. */
  public static int packedSize(byte[] weights, int center) {
    int[] counts = counts(weights, (byte) center);
    long fewest = bits(counts, PLAIN);
    for (int k = 0; k < PLAIN; k++) {
      fewest = Math.min(fewest, bits(counts, k));
    }
    return size(fewest);
  }

  private static int size(long bits) {
    return HEAD + (int) ((bits + 7) / 8);
  }

  private static int[] counts(byte[] weights, byte middle) {
    int[] counts = new int[512];
    for (byte weight : weights) {
      counts[folded(weight - middle)]++;
    }
    return counts;
  }

  private static int folded(int distance) {
    return distance < 0 ? -2 * distance - 1 : 2 * distance;
  }

  private static long bits(int[] counts, int k) {
    long bits = 0;
    for (int u = 0; u < counts.length; u++) {
      int ones = u >> k;
      int size = k == PLAIN ? 8 : ones < ESCAPE ? ones + 1 + k : LONGEST;
      bits += (long) counts[u] * size;
    }
    return bits;
  }

  private static void write(byte[] weights, int middle, int k, byte[] packed) {
    long bits = 0;
    int held = 0;
    int at = HEAD;
    for (byte weight : weights) {
      int u = folded(weight - middle);
      int ones = u >> k;
      if (ones < ESCAPE) {
        bits |= ((1L << ones) - 1 | (u & (1L << k) - 1) << ones + 1) << held;
        held += ones + 1 + k;
      } else {
        bits |= ((1L << ESCAPE) - 1 | (weight & 0xFFL) << ESCAPE) << held;
        held += LONGEST;
      }
      for (; held >= 8; held -= 8, bits >>>= 8) {
        packed[at++] = (byte) bits;
      }
    }
    if (held > 0) {
      packed[at] = (byte) bits;
    }
  }

  /**
   * Unpacks weights.
   *
   * @param from where they begin
   * @param length bytes that they take
   * @param count weights
   * @throws CommandFormatException where the bytes are not so many packed weights
   */
  public static byte[] unpack(byte[] bytes, int from, int length, int count)
      throws CommandFormatException {
    if (length < HEAD) {
      throw new CommandFormatException("packed weights have a head of " + HEAD + " bytes");
    }
    int k = bytes[from] & 0xFF;
    if (k > PLAIN) {
      throw new CommandFormatException("packed weights have the parameter " + k);
    }
    if (k == PLAIN) {
      if (length - HEAD != count) {
        throw new CommandFormatException(
            count + " plain weights do not stand in " + (length - HEAD) + " bytes");
      }
      return Arrays.copyOfRange(bytes, from + HEAD, from + length);
    }
    return read(bytes, from, length, count);
  }

  private static byte[] read(byte[] bytes, int from, int length, int count)
      throws CommandFormatException {
    int k = bytes[from];
    int middle = bytes[from + 1];
    int end = from + length;
    long all = 8L * (length - HEAD);
    // Each weight takes a bit at least.
    if (count > all) {
      throw new CommandFormatException(count + " weights do not stand in " + all + " bits");
    }
    byte[] weights = new byte[count];
    // The next bits, and zeros above them.
    long bits = 0;
    int held = 0;
    int at = from + HEAD;
    for (int i = 0; i < count; i++) {
      if (held < LONGEST) {
        for (; held <= Long.SIZE - 8 && at < end; held += 8) {
          bits |= (bytes[at++] & 0xFFL) << held;
        }
      }
      int ones = Math.min(Long.numberOfTrailingZeros(~bits), ESCAPE);
      int size = ones < ESCAPE ? ones + 1 + k : LONGEST;
      if (size > held) {
        throw new CommandFormatException("packed weights end too early");
      }
      if (ones < ESCAPE) {
        int u = ones << k | (int) (bits >>> ones + 1) & (1 << k) - 1;
        weights[i] = (byte) (middle + (u >> 1 ^ -(u & 1)));
      } else {
        weights[i] = (byte) (bits >>> ESCAPE);
      }
      bits >>>= size;
      held -= size;
    }
    return weights;
  }
}
