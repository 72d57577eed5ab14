// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import java.util.Arrays;

/** Arithmetic on two tensors of stored bytes: walks over the runs. Immutable and thread-safe. */
public abstract class StoredPairs implements Step {
  private final Pairs pairs;
  private final int tiles;

  StoredPairs(Pairs pairs, int tiles) {
    this.pairs = pairs;
    this.tiles = tiles;
  }

  @Override
  public final int tiles() {
    return tiles;
  }

  @Override
  public final void run(Frame frame, Scratch scratch, int tile) {
    int from = (int) ((long) pairs.count() * tile / tiles);
    int end = (int) ((long) pairs.count() * (tile + 1) / tiles);
    byte[] out = frame.bytes(pairs.output());
    for (int run = from; run < end; run++) {
      byte[] first = frame.bytes(pairs.left());
      byte[] second = frame.bytes(pairs.right());
      int firstAt = pairs.first()[run];
      int secondAt = pairs.second()[run];
      int count = pairs.lengths()[run];
      if (pairs.isFirstRepeated()) {
        Arrays.fill(scratch.repeatedBytes, 0, count, first[firstAt]);
        first = scratch.repeatedBytes;
        firstAt = 0;
      } else if (pairs.isSecondRepeated()) {
        Arrays.fill(scratch.repeatedBytes, 0, count, second[secondAt]);
        second = scratch.repeatedBytes;
        secondAt = 0;
      }
      int whole = count / Lanes.COUNT * Lanes.COUNT;
      int to = pairs.result()[run];
      apply(frame.isScalar, scratch.ints, first, firstAt, second, secondAt, out, to, whole);
      if (whole < count) {
        apply(
            frame.isScalar,
            scratch.ints,
            first,
            firstAt + whole,
            second,
            secondAt + whole,
            scratch.spareBytes,
            0,
            Lanes.COUNT);
        System.arraycopy(scratch.spareBytes, 0, out, to + whole, count - whole);
      }
    }
  }

  /**
   * Computes a run of whole vectors.
   *
   * @param isScalar whether one element is computed after the other
   * @param sums {@link #scratchInts} elements for what lies between
   */
  abstract void apply(
      boolean isScalar,
      int[] sums,
      byte[] first,
      int firstAt,
      byte[] second,
      int secondAt,
      byte[] out,
      int to,
      int count);
}
