// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

/**
 * How work is divided into tiles. Results do not depend on it. Immutable.
 *
 * @param threads that compute an execution together
 */
record Budget(int threads) {
  /** Work below which a second thread does not pay, in operations of a whole vector. */
  private static final long LEAST_WORK = 10_000;

  /** Tiles for each thread: one that is held up leaves the rest to the others. */
  private static final int TILES_PER_THREAD = 4;

  /** Floats of a thread's working set that stay in its second-level cache with room to spare. */
  static final int CACHED_FLOATS = 48 * 1024;

  /**
   * Into how many tiles work should be divided.
   *
   * @param work in multiply-accumulates or accesses of a single element
   */
  int tiles(long work) {
    long vectors = work / Lanes.COUNT;
    if (threads == 1 || vectors < 2 * LEAST_WORK) {
      return 1;
    }
    return (int) Math.min(vectors / LEAST_WORK, (long) threads * TILES_PER_THREAD);
  }
}
