// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.ResolvedOperation;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The constant weights of an 8-bit layer, as they are stored: a compilation must not touch each of
 * them more often than it has to, and in loops that are short enough for the JVM to compile soon.
 * Used by one compilation, which does not touch those that another one has packed.
 */
final class StoredWeights {
  private final Supplier<byte[]> source;
  private final Optional<?> identity;

  /** The mask that makes stored bytes signed ones. */
  private final int flip;

  /** Of signed bytes. */
  private final int zeroPoint;

  /** Null until one is touched. */
  private byte[] stored;

  private StoredWeights(Supplier<byte[]> source, Optional<?> identity, int flip, int zeroPoint) {
    this.source = source;
    this.identity = identity;
    this.flip = flip;
    this.zeroPoint = zeroPoint;
  }

  StoredWeights(byte[] stored, int flip, int zeroPoint) {
    this(() -> stored, Optional.empty(), flip, zeroPoint);
  }

  /** Returns input 1 of an operation. */
  static StoredWeights of(ResolvedOperation operation, Lowering.Operands operands, int zeroPoint) {
    OperandView filter = operation.view().input(1);
    boolean isUnsigned = filter.type() == OperandCode.TENSOR_QUANT8_ASYMM;
    return new StoredWeights(
        () -> filter.value().orElseThrow().toArray(ValueLayout.JAVA_BYTE),
        operands.identity(1),
        isUnsigned ? Byte.MIN_VALUE : 0,
        isUnsigned ? zeroPoint + Byte.MIN_VALUE : zeroPoint);
  }

  /** All that decides on weights. */
  private record Key(Object identity, int flip, int zeroPoint) {}

  /** Returns what equals that of the same weights; empty where no other compilation has them. */
  Optional<Object> key() {
    return identity.map(known -> new Key(known, flip, zeroPoint));
  }

  private byte[] stored() {
    if (stored == null) {
      stored = source.get();
    }
    return stored;
  }

  /** Returns those that stand beside each other in a row far from each other, and the reverse. */
  StoredWeights transposed(int rows) {
    return new StoredWeights(
        () -> transposed(stored(), rows),
        identity.map(known -> List.of(known, rows)),
        flip,
        zeroPoint);
  }

  private static byte[] transposed(byte[] stored, int rows) {
    byte[] to = new byte[stored.length];
    int columns = stored.length / rows;
    for (int row = 0; row < rows; row++) {
      int at = row;
      for (int i = row * columns; i < (row + 1) * columns; i++, at += rows) {
        to[at] = stored[i];
      }
    }
    return to;
  }

  /**
   * Returns those of some taps.
   *
   * @param taps in their new order
   * @param of how many there are for each output channel
   * @param channels of a tap
   */
  StoredWeights chosen(int[] taps, int of, int channels) {
    byte[] stored = stored();
    int filters = stored.length / (of * channels);
    byte[] to = new byte[filters * taps.length * channels];
    int at = 0;
    for (int filter = 0; filter < filters; filter++) {
      for (int tap : taps) {
        System.arraycopy(stored, (filter * of + tap) * channels, to, at, channels);
        at += channels;
      }
    }
    return new StoredWeights(to, flip, zeroPoint);
  }

  /** Returns some that stand beside each other. */
  StoredWeights part(int from, int count) {
    return new StoredWeights(Arrays.copyOfRange(stored(), from, from + count), flip, zeroPoint);
  }

  /** Returns a weight, less the zero point. */
  int get(int index) {
    return (byte) (stored()[index] ^ flip) - zeroPoint;
  }

  /** Returns what some weights must be made less by, to be signed bytes. */
  int excess(int from, int count) {
    if (zeroPoint == 0) {
      return 0;
    }
    byte[] stored = stored();
    int least = 0;
    int largest = 0;
    for (int i = from; i < from + count; i++) {
      int weight = (byte) (stored[i] ^ flip) - zeroPoint;
      if (weight < least) {
        least = weight;
      } else if (weight > largest) {
        largest = weight;
      }
    }
    return Math.max(largest - Byte.MAX_VALUE, 0) + Math.min(least - Byte.MIN_VALUE, 0);
  }

  /**
   * Returns whether no two neighbours of some weights leave 16 bits, times 255 each.
   *
   * @param run weights of which two are neighbours
   */
  boolean neverSaturate(int from, int count, int run) {
    byte[] stored = stored();
    for (int begin = from; begin < from + count; begin += run) {
      for (int i = begin; i < begin + run; i += 2) {
        int first = (byte) (stored[i] ^ flip) - zeroPoint;
        int second = i + 1 < begin + run ? (byte) (stored[i + 1] ^ flip) - zeroPoint : 0;
        int sum = first + second;
        if (first > Byte.MAX_VALUE || second > Byte.MAX_VALUE || sum > Byte.MAX_VALUE) {
          return false;
        }
        if (first < Byte.MIN_VALUE || second < Byte.MIN_VALUE || sum < Byte.MIN_VALUE) {
          return false;
        }
      }
    }
    return true;
  }

  /**
   * Writes some weights as words, two into each of some integers, and returns their sum.
   *
   * @param at the first integer
   * @param step from one integer to the next
   */
  int writeWords(int from, int count, int[] to, int at, int step) {
    byte[] stored = stored();
    int sum = 0;
    int place = at;
    for (int i = from; i < from + count; i += 2, place += step) {
      int first = (byte) (stored[i] ^ flip) - zeroPoint;
      int second = i + 1 < from + count ? (byte) (stored[i + 1] ^ flip) - zeroPoint : 0;
      to[place] = first & 0xFFFF | second << Short.SIZE;
      sum += first + second;
    }
    return sum;
  }

  /**
   * Writes some weights as bytes, four into each of some integers, and returns their sum.
   *
   * @param less what all are made less by; not so in the sum
   * @param at the first integer
   * @param step from one integer to the next
   */
  int writeBytes(int from, int count, int less, int[] to, int at, int step) {
    byte[] stored = stored();
    int sum = 0;
    int place = at;
    int offset = zeroPoint + less;
    int whole = from + count - count % Integer.BYTES;
    for (int i = from; i < whole; i += Integer.BYTES, place += step) {
      int a = (byte) (stored[i] ^ flip) - offset;
      int b = (byte) (stored[i + 1] ^ flip) - offset;
      int c = (byte) (stored[i + 2] ^ flip) - offset;
      int d = (byte) (stored[i + 3] ^ flip) - offset;
      to[place] = a & 0xFF | (b & 0xFF) << 8 | (c & 0xFF) << 16 | d << 24;
      sum += a + b + c + d;
    }
    int last = 0;
    for (int i = whole; i < from + count; i++) {
      int weight = (byte) (stored[i] ^ flip) - offset;
      last |= (weight & 0xFF) << (i - whole) * Byte.SIZE;
      sum += weight;
    }
    if (whole < from + count) {
      to[place] = last;
    }
    return sum + less * count;
  }
}
