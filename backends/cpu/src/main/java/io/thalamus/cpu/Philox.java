// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

/**
 * The random number generator Philox4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as
 * 1, 2, 3" (2011), seeded and read as TensorFlow does it. Used by one thread.
 */
final class Philox {
  private static final int ROUNDS = 10;
  private static final int FACTOR_A = 0xD2511F53;
  private static final int FACTOR_B = 0xCD9E8D57;
  private static final int WEYL_A = 0x9E3779B9;
  private static final int WEYL_B = 0xBB67AE85;
  private static final long MANTISSA = (1L << 52) - 1;

  private final int keyA;
  private final int keyB;
  private final int[] counter = new int[4];
  private final int[] block = new int[4];
  private int used = block.length;

  Philox(long seed, long seed2) {
    keyA = (int) seed;
    keyB = (int) (seed >>> 32);
    counter[2] = (int) seed2;
    counter[3] = (int) (seed2 >>> 32);
  }

  /** The next number, in [0, 1). */
  double nextDouble() {
    long high = Integer.toUnsignedLong(nextInt());
    long low = Integer.toUnsignedLong(nextInt());
    return Double.longBitsToDouble(1023L << 52 | (high << 32 | low) & MANTISSA) - 1;
  }

  private int nextInt() {
    if (used == block.length) {
      fill();
      used = 0;
    }
    return block[used++];
  }

  private void fill() {
    System.arraycopy(counter, 0, block, 0, block.length);
    int a = keyA;
    int b = keyB;
    for (int i = 0; i < ROUNDS; i++) {
      long x = Integer.toUnsignedLong(FACTOR_A) * Integer.toUnsignedLong(block[0]);
      long y = Integer.toUnsignedLong(FACTOR_B) * Integer.toUnsignedLong(block[2]);
      block[0] = (int) (y >>> 32) ^ block[1] ^ a;
      block[1] = (int) y;
      block[2] = (int) (x >>> 32) ^ block[3] ^ b;
      block[3] = (int) x;
      a += WEYL_A;
      b += WEYL_B;
    }
    for (int i = 0; i < counter.length && ++counter[i] == 0; i++) {
      // The carry goes on to the next word.
      continue;
    }
  }
}
