// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

/** What one thread needs within a tile. The contents mean nothing between two tiles. */
final class Scratch {
  /** Behind {@link Lanes#LEAD} elements, as many as the hungriest step needs. */
  final float[] floats;

  /** As many as the hungriest step needs. */
  final int[] ints;

  /** A few bytes for the ends of rows. */
  final byte[] bytes = new byte[Lanes.SLACK];

  /** Arguments of the matrix kernels. */
  final Rows rows = new Rows();

  Scratch(int floats, int ints) {
    this.floats = new float[Lanes.LEAD + floats + Lanes.SLACK];
    this.ints = new int[ints + Lanes.SLACK];
  }
}
