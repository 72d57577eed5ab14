// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.Rows;

/** The memory of one thread within a tile. The contents mean nothing between two tiles. */
public final class Scratch {
  /** Elements of {@link #repeatedFloats} and {@link #repeatedBytes}. */
  public static final int LONGEST_RUN = 2048;

  /** Behind {@link Lanes#LEAD} elements, as many as the hungriest step needs. */
  public final float[] floats;

  /** As many as the hungriest step needs. */
  public final int[] ints;

  /** A run of one repeated element. */
  public final float[] repeatedFloats = new float[LONGEST_RUN + Lanes.SLACK];

  /** As {@link #repeatedFloats}. */
  public final byte[] repeatedBytes = new byte[LONGEST_RUN + Lanes.SLACK];

  /** A vector for the ends of rows, where whole ones must not be written. */
  public final byte[] spareBytes = new byte[Lanes.SLACK];

  /** As {@link #spareBytes}. */
  public final float[] spareFloats = new float[Lanes.SLACK];

  /** Arguments of the matrix kernels. */
  public final Rows rows = new Rows();

  Scratch(int floats, int ints) {
    this.floats = new float[Lanes.LEAD + floats + Lanes.SLACK];
    this.ints = new int[ints + Lanes.SLACK];
  }
}
