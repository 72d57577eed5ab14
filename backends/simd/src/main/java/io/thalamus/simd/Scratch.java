// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

/** What one thread needs within a tile. The contents mean nothing between two tiles. */
final class Scratch {
  /** Behind {@link Lanes#LEAD} elements, as many as the hungriest step needs. */
  final float[] floats;

  /** As many as the hungriest step needs. */
  final int[] ints;

  /** A run of one repeated element. */
  final float[] repeatedFloats = new float[Pairs.LONGEST + Lanes.SLACK];

  /** As {@link #repeatedFloats}. */
  final byte[] repeatedBytes = new byte[Pairs.LONGEST + Lanes.SLACK];

  /** A vector for the ends of rows, where whole ones must not be written. */
  final byte[] spareBytes = new byte[Lanes.SLACK];

  /** As {@link #spareBytes}. */
  final float[] spareFloats = new float[Lanes.SLACK];

  /** Arguments of the matrix kernels. */
  final Rows rows = new Rows();

  Scratch(int floats, int ints) {
    this.floats = new float[Lanes.LEAD + floats + Lanes.SLACK];
    this.ints = new int[ints + Lanes.SLACK];
  }
}
