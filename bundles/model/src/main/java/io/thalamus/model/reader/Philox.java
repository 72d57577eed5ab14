// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

/**
 * The generator of random numbers by Salmon and others ("Parallel random numbers: as easy as 1, 2,
 * 3"), with four numbers of 32 bits and ten rounds, seeded and read as TensorFlow does it. Not
 * thread-safe.
 */
public final class Philox {
  private static final int WIDTH = 4;
  private static final int ROUNDS = 10;
  private static final long FIRST_FACTOR = 0xD2511F53L;
  private static final long SECOND_FACTOR = 0xCD9E8D57L;
  private static final int FIRST_STEP = 0x9E3779B9;
  private static final int SECOND_STEP = 0xBB67AE85;
  private static final long LOW = 0xFFFFFFFFL;
  private static final int FRACTION = 0x7FFFFF;
  private static final int LONG_FRACTION = 0xFFFFF;
  private static final float LEAST = 1e-7f;

  private final long seed;
  private final long stream;
  private long counter;
  private final int[] block = new int[WIDTH];
  private int used = WIDTH;

  /**
   * A generator by two seeds.
   *
   * @param seed what is drawn differs with
   * @param stream the number of one of many generators with the same seed
   */
  public Philox(long seed, long stream) {
    this.seed = seed;
    this.stream = stream;
  }

  private int nextInt() {
    if (used == WIDTH) {
      fill();
      used = 0;
    }
    return block[used++];
  }

  private void fill() {
    block[0] = (int) counter;
    block[1] = (int) (counter >>> 32);
    block[2] = (int) stream;
    block[3] = (int) (stream >>> 32);
    counter++;
    int first = (int) seed;
    int second = (int) (seed >>> 32);
    for (int round = 0; round < ROUNDS; round++) {
      long a = FIRST_FACTOR * (block[0] & LOW);
      long b = SECOND_FACTOR * (block[2] & LOW);
      block[0] = (int) (b >>> 32) ^ block[1] ^ first;
      block[1] = (int) b;
      block[2] = (int) (a >>> 32) ^ block[3] ^ second;
      block[3] = (int) a;
      first += FIRST_STEP;
      second += SECOND_STEP;
    }
  }

  private float nextFloat() {
    return Float.intBitsToFloat(nextInt() & FRACTION | 0x3F800000) - 1;
  }

  /** Draws numbers evenly from 0 to 1. */
  public void uniform(float[] values) {
    for (int i = 0; i < values.length; i++) {
      values[i] = nextFloat();
    }
  }

  /** Draws numbers of the normal distribution, in pairs by the method of Box and Muller. */
  public void normal(float[] values) {
    for (int i = 0; i < values.length; i += 2) {
      float distance = (float) Math.sqrt(-2 * (float) Math.log(Math.max(LEAST, nextFloat())));
      float angle = (float) (2 * Math.PI * nextFloat());
      values[i] = (float) Math.sin(angle) * distance;
      if (i + 1 < values.length) {
        values[i + 1] = (float) Math.cos(angle) * distance;
      }
    }
  }

  /** Draws a number evenly from 0 to 1, of twice as many bits. */
  public double nextDouble() {
    long high = (nextInt() & (long) LONG_FRACTION) << 32;
    return Double.longBitsToDouble(high | nextInt() & LOW | 1023L << 52) - 1;
  }
}
