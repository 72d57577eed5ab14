// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.LittleEndian.INT;
import static io.thalamus.model.LittleEndian.LONG;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * FarmHash's Fingerprint64, a hash of bytes that stays the same for ever; Geoff Pike,
 * github.com/google/farmhash, namespace farmhashna.
 */
final class FarmHash {
  private static final long K0 = 0xc3a5c85c97cb3127L;
  private static final long K1 = 0xb492b66fbe98f273L;
  private static final long K2 = 0x9ae16a3b2f90404fL;
  private static final long SEED = 81;
  private static final int BLOCK = 64;

  private FarmHash() {}

  /** The fingerprint of the first {@code length} bytes. */
  static long fingerprint(MemorySegment bytes, int length) {
    if (length <= 16) {
      return upTo16(bytes, length);
    }
    if (length <= 32) {
      return upTo32(bytes, length);
    }
    if (length <= BLOCK) {
      return upTo64(bytes, length);
    }
    return new State(bytes, length).hash();
  }

  private static long fetch(MemorySegment bytes, long offset) {
    return bytes.get(LONG, offset);
  }

  private static long fetch32(MemorySegment bytes, long offset) {
    return Integer.toUnsignedLong(bytes.get(INT, offset));
  }

  private static long fetch8(MemorySegment bytes, long offset) {
    return Byte.toUnsignedLong(bytes.get(ValueLayout.JAVA_BYTE, offset));
  }

  private static long shiftMix(long value) {
    return value ^ value >>> 47;
  }

  private static long combine(long u, long v, long factor) {
    long a = shiftMix((u ^ v) * factor);
    return shiftMix((v ^ a) * factor) * factor;
  }

  private static long upTo16(MemorySegment bytes, int length) {
    long factor = K2 + length * 2L;
    if (length >= 8) {
      long a = fetch(bytes, 0) + K2;
      long b = fetch(bytes, length - 8);
      long c = Long.rotateRight(b, 37) * factor + a;
      long d = (Long.rotateRight(a, 25) + b) * factor;
      return combine(c, d, factor);
    }
    if (length >= 4) {
      return combine(length + (fetch32(bytes, 0) << 3), fetch32(bytes, length - 4), factor);
    }
    if (length > 0) {
      long y = fetch8(bytes, 0) + (fetch8(bytes, length >> 1) << 8);
      long z = length + (fetch8(bytes, length - 1) << 2);
      return shiftMix(y * K2 ^ z * K0) * K2;
    }
    return K2;
  }

  private static long upTo32(MemorySegment bytes, int length) {
    long factor = K2 + length * 2L;
    long a = fetch(bytes, 0) * K1;
    long b = fetch(bytes, 8);
    long c = fetch(bytes, length - 8) * factor;
    long d = fetch(bytes, length - 16) * K2;
    return combine(
        Long.rotateRight(a + b, 43) + Long.rotateRight(c, 30) + d,
        a + Long.rotateRight(b + K2, 18) + c,
        factor);
  }

  private static long upTo64(MemorySegment bytes, int length) {
    long factor = K2 + length * 2L;
    long a = fetch(bytes, 0) * K2;
    long b = fetch(bytes, 8);
    long c = fetch(bytes, length - 8) * factor;
    long d = fetch(bytes, length - 16) * K2;
    long y = Long.rotateRight(a + b, 43) + Long.rotateRight(c, 30) + d;
    long z = combine(y, a + Long.rotateRight(b + K2, 18) + c, factor);
    long e = fetch(bytes, 16) * factor;
    long f = fetch(bytes, 24);
    long g = (y + fetch(bytes, length - 32)) * factor;
    long h = (z + fetch(bytes, length - 24)) * factor;
    return combine(
        Long.rotateRight(e + f, 43) + Long.rotateRight(g, 30) + h,
        e + Long.rotateRight(f + a, 18) + g,
        factor);
  }

  /** The state of a hash of more than 64 bytes. */
  private static final class State {
    private final MemorySegment bytes;
    private final int length;
    private long x;
    private long y;
    private long z;
    private long v0;
    private long v1;
    private long w0;
    private long w1;

    State(MemorySegment bytes, int length) {
      this.bytes = bytes;
      this.length = length;
      y = SEED * K1 + 113;
      z = shiftMix(y * K2 + 113) * K2;
      x = SEED * K2 + fetch(bytes, 0);
    }

    long hash() {
      long end = (length - 1) / BLOCK * (long) BLOCK;
      for (long offset = 0; offset < end; offset += BLOCK) {
        mix(offset, K1, 1);
      }
      int rest = length - 1 & BLOCK - 1;
      long factor = K1 + ((z & 0xff) << 1);
      w0 += rest;
      v0 += w0;
      w0 += v0;
      mix(end + rest - (BLOCK - 1), factor, 9);
      return combine(
          combine(v0, w0, factor) + shiftMix(y) * K0 + z, combine(v1, w1, factor) + x, factor);
    }

    private void mix(long at, long factor, long last) {
      x = Long.rotateRight(x + y + v0 + fetch(bytes, at + 8), 37) * factor;
      y = Long.rotateRight(y + v1 + fetch(bytes, at + 48), 42) * factor;
      x ^= w1 * last;
      y += v0 * last + fetch(bytes, at + 40);
      z = Long.rotateRight(z + w0, 33) * factor;
      weakV(at, v1 * factor, x + w0);
      weakW(at + 32, z + w1, y + fetch(bytes, at + 16));
      long swapped = z;
      z = x;
      x = swapped;
    }

    private void weakV(long at, long a, long b) {
      v0 = first(at, a);
      v1 = second(at, a, b);
    }

    private void weakW(long at, long a, long b) {
      w0 = first(at, a);
      w1 = second(at, a, b);
    }

    private long first(long at, long a) {
      return a
          + fetch(bytes, at)
          + fetch(bytes, at + 8)
          + fetch(bytes, at + 16)
          + fetch(bytes, at + 24);
    }

    private long second(long at, long a, long b) {
      long start = a + fetch(bytes, at);
      long turned = Long.rotateRight(b + start + fetch(bytes, at + 24), 21);
      long sum = start + fetch(bytes, at + 8) + fetch(bytes, at + 16);
      return turned + Long.rotateRight(sum, 44) + start;
    }
  }
}
