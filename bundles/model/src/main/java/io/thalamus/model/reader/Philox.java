// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

/**
 * The generator of random numbers by Salmon and others ("Parallel random numbers: as easy as 1, 2,
 * 3"), with four numbers of 32 bits and ten rounds, seeded and read as TensorFlow does it: readers
 * draw by it what a file has drawn by lot. Not thread-safe.
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

  private int[] next() {
    int[] state = {(int) counter, (int) (counter >>> 32), (int) stream, (int) (stream >>> 32)};
    counter++;
    int first = (int) seed;
    int second = (int) (seed >>> 32);
    for (int round = 0; round < ROUNDS; round++) {
      long a = FIRST_FACTOR * (state[0] & LOW);
      long b = SECOND_FACTOR * (state[2] & LOW);
      state[0] = (int) (b >>> 32) ^ state[1] ^ first;
      state[1] = (int) b;
      state[2] = (int) (a >>> 32) ^ state[3] ^ second;
      state[3] = (int) a;
      first += FIRST_STEP;
      second += SECOND_STEP;
    }
    return state;
  }

  private static float fraction(int bits) {
    return Float.intBitsToFloat(bits & FRACTION | 0x3F800000) - 1;
  }

  /** Draws numbers evenly from 0 to 1. */
  public void uniform(float[] values) {
    int[] drawn = {};
    for (int i = 0; i < values.length; i++) {
      drawn = i % WIDTH == 0 ? next() : drawn;
      values[i] = fraction(drawn[i % WIDTH]);
    }
  }

  /** Draws numbers of the normal distribution, in pairs by the method of Box and Muller. */
  public void normal(float[] values) {
    int[] drawn = {};
    for (int i = 0; i < values.length; i += 2) {
      drawn = i % WIDTH == 0 ? next() : drawn;
      float distance =
          (float) Math.sqrt(-2 * (float) Math.log(Math.max(LEAST, fraction(drawn[i % WIDTH]))));
      float angle = (float) (2 * Math.PI * fraction(drawn[i % WIDTH + 1]));
      values[i] = (float) Math.sin(angle) * distance;
      if (i + 1 < values.length) {
        values[i + 1] = (float) Math.cos(angle) * distance;
      }
    }
  }

  /** Draws numbers evenly from 0 to 1, of twice as many bits, rounded at last. */
  public void doubles(float[] values) {
    int[] drawn = {};
    for (int i = 0; i < values.length; i++) {
      int at = 2 * i % WIDTH;
      drawn = at == 0 ? next() : drawn;
      long bits = (drawn[at] & (long) LONG_FRACTION) << 32 | drawn[at + 1] & LOW;
      values[i] = (float) (Double.longBitsToDouble(bits | 1023L << 52) - 1);
    }
  }
}
