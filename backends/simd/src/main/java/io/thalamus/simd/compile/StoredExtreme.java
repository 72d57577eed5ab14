// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import java.util.stream.IntStream;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** The larger or the smaller of two stored bytes. */
final class StoredExtreme extends PairRuns {
  private static final VectorSpecies<Byte> SPECIES = ByteVector.SPECIES_PREFERRED;

  private final byte[] first;
  private final byte[] second;

  /** Whether bytes of both tensors stay as they are. */
  private final boolean isPlain;

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
    isPlain = isIdentity(first) && isIdentity(second);
    flip = isLargest ? pairs.output().flip() : ~pairs.output().flip();
  }

  private static boolean isIdentity(byte[] table) {
    return IntStream.range(0, table.length).allMatch(i -> table[i] == (byte) i);
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
    int i = 0;
    if (isPlain && !frame.isScalar) {
      byte flips = (byte) flip;
      for (; i <= count - SPECIES.length(); i += SPECIES.length()) {
        ByteVector x = ByteVector.fromArray(SPECIES, a, firstAt + i);
        ByteVector y = ByteVector.fromArray(SPECIES, b, secondAt + i);
        x.lanewise(VectorOperators.XOR, flips)
            .max(y.lanewise(VectorOperators.XOR, flips))
            .lanewise(VectorOperators.XOR, flips)
            .intoArray(out, to + i);
      }
    }
    for (; i < count; i++) {
      int x = (byte) (first[a[firstAt + i] & 0xFF] ^ flip);
      int y = (byte) (second[b[secondAt + i] & 0xFF] ^ flip);
      out[to + i] = (byte) (Math.max(x, y) ^ flip);
    }
  }
}
