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
      int size = k == PLAIN ? 8 : ones < ESCAPE ? ones + 1 + k : ESCAPE + 8;
      bits += (long) counts[u] * size;
    }
    return bits;
  }

  private static void write(byte[] weights, int middle, int k, byte[] packed) {
    long at = 8L * HEAD;
    for (byte weight : weights) {
      int u = folded(weight - middle);
      int ones = u >> k;
      if (ones < ESCAPE) {
        at = write(packed, at, (1 << ones) - 1, ones + 1);
        at = write(packed, at, u & (1 << k) - 1, k);
      } else {
        at = write(packed, at, (1 << ESCAPE) - 1, ESCAPE);
        at = write(packed, at, weight & 0xFF, 8);
      }
    }
  }

  private static long write(byte[] packed, long at, int value, int count) {
    for (int i = 0; i < count; i++) {
      if ((value >> i & 1) != 0) {
        packed[(int) (at + i >> 3)] |= (byte) (1 << (at + i & 7));
      }
    }
    return at + count;
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
    return read(new Bits(bytes, from + HEAD, from + length), bytes[from + 1], k, count);
  }

  private static byte[] read(Bits bits, int middle, int k, int count)
      throws CommandFormatException {
    // Each weight takes a bit at least.
    if (count > bits.left()) {
      throw new CommandFormatException(count + " weights do not stand in " + bits.left() + " bits");
    }
    byte[] weights = new byte[count];
    for (int i = 0; i < count; i++) {
      int ones = 0;
      while (ones < ESCAPE && bits.next() != 0) {
        ones++;
      }
      if (ones == ESCAPE) {
        weights[i] = (byte) bits.next(8);
      } else {
        int u = ones << k | bits.next(k);
        weights[i] = (byte) (middle + ((u & 1) != 0 ? -(u + 1 >> 1) : u >> 1));
      }
    }
    return weights;
  }

  /** Reads bit by bit. */
  private static final class Bits {
    private final byte[] bytes;
    private final long end;
    private long at;

    Bits(byte[] bytes, int from, int end) {
      this.bytes = bytes;
      this.at = 8L * from;
      this.end = 8L * end;
    }

    long left() {
      return end - at;
    }

    int next() throws CommandFormatException {
      if (at >= end) {
        throw new CommandFormatException("packed weights end too early");
      }
      int bit = bytes[(int) (at >> 3)] >> (int) (at & 7) & 1;
      at++;
      return bit;
    }

    int next(int count) throws CommandFormatException {
      int value = 0;
      for (int i = 0; i < count; i++) {
        value |= next() << i;
      }
      return value;
    }
  }
}
