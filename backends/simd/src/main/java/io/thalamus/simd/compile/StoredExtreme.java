// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;

/** The larger or the smaller of two stored bytes. */
final class StoredExtreme extends PairRuns {
  private final byte[] first;
  private final byte[] second;

  /** What makes stored bytes signed, and the larger of them the better one. */
  private final int flip;

  /**
   * @param first what the bytes of the first tensor become, by their bits
   * @param second the same for the second
   */
  StoredExtreme(boolean isLargest, Pairs pairs, byte[] first, byte[] second, Budget budget) {
    super(pairs, 4, budget);
    this.first = first;
    this.second = second;
    flip = isLargest ? pairs.output().flip() : ~pairs.output().flip();
  }

  @Override
  void apply(
      Frame frame,
      Scratch scratch,
      Object left,
      int firstAt,
      Object right,
      int secondAt,
      Object results,
      int to,
      int count) {
    byte[] a = (byte[]) left;
    byte[] b = (byte[]) right;
    byte[] out = (byte[]) results;
    for (int i = 0; i < count; i++) {
      int x = (byte) (first[a[firstAt + i] & 0xFF] ^ flip);
      int y = (byte) (second[b[secondAt + i] & 0xFF] ^ flip);
      out[to + i] = (byte) (Math.max(x, y) ^ flip);
    }
  }
}
