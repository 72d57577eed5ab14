// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;

/** A function of the elements of two tensors: walks over the runs. Immutable and thread-safe. */
abstract class PairRuns implements Step {
  private final Pairs pairs;
  private final int tiles;

  PairRuns(Pairs pairs, int tiles) {
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
    Object out = frame.array(pairs.output());
    for (int run = from; run < end; run++) {
      Object first = frame.array(pairs.left());
      Object second = frame.array(pairs.right());
      int firstAt = pairs.first()[run];
      int secondAt = pairs.second()[run];
      int count = pairs.lengths()[run];
      if (pairs.isFirstRepeated()) {
        first = scratch.repeat(first, firstAt, count);
        firstAt = 0;
      } else if (pairs.isSecondRepeated()) {
        second = scratch.repeat(second, secondAt, count);
        secondAt = 0;
      }
      apply(frame, scratch, first, firstAt, second, secondAt, out, pairs.result()[run], count);
    }
  }

  /** Computes a run of results; the arrays are those of the tensors' types. */
  abstract void apply(
      Frame frame,
      Scratch scratch,
      Object first,
      int firstAt,
      Object second,
      int secondAt,
      Object out,
      int to,
      int count);
}
