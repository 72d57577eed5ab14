// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.PackedMatrix;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.kernel.Rows;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The memory of one thread within a tile. The contents mean nothing between two tiles. */
public final class Scratch {
  /** Elements of the longest run of {@link #repeat}, and of {@link #numbers}. */
  public static final int LONGEST_RUN = 2048;

  /** Behind {@link Lanes#LEAD} elements, as many as the hungriest step needs. */
  public final float[] floats;

  /** As many as the hungriest step needs. */
  public final int[] ints;

  private final float[] repeatedFloats = new float[LONGEST_RUN + Lanes.SLACK];
  private final byte[] repeatedBytes = new byte[LONGEST_RUN + Lanes.SLACK];
  private final int[] repeatedInts = new int[LONGEST_RUN + Lanes.SLACK];

  /** Elements of any type on their way to another one. */
  public final double[] numbers = new double[LONGEST_RUN];

  /** A vector for the ends of rows, where whole ones must not be written. */
  public final byte[] spareBytes = new byte[Lanes.SLACK];

  /** As {@link #spareBytes}. */
  public final float[] spareFloats = new float[Lanes.SLACK];

  /** Arguments of the matrix kernels. */
  public final Rows rows = new Rows();

  /** The memory of {@link #product}. */
  private final PackedMatrix packed;

  private final List<Product> products = new ArrayList<>();

  Scratch(int floats, int ints, int packed) {
    this.floats = new float[Lanes.LEAD + floats + Lanes.SLACK];
    this.ints = new int[ints + Lanes.SLACK];
    this.packed = PackedMatrix.room(packed);
  }

  /** Returns a run that repeats elements of an array, from index 0 on. */
  public Object repeat(Object array, int at, int period, int count) {
    Object run =
        switch (array) {
          case float[] floats -> {
            Arrays.fill(repeatedFloats, 0, period == 1 ? count : 0, floats[at]);
            yield repeatedFloats;
          }
          case int[] ints -> {
            Arrays.fill(repeatedInts, 0, period == 1 ? count : 0, ints[at]);
            yield repeatedInts;
          }
          case Object bytes -> {
            Arrays.fill(repeatedBytes, 0, period == 1 ? count : 0, ((byte[]) bytes)[at]);
            yield repeatedBytes;
          }
        };
    if (period > 1) {
      System.arraycopy(array, at, run, 0, Math.min(period, count));
      for (int done = period; done < count; done *= 2) {
        System.arraycopy(run, 0, run, done, Math.min(done, count - done));
      }
    }
    return run;
  }

  /**
   * Returns a product of this thread, whose right matrix a tile packs before it multiplies. Those
   * of all shapes stand in the same memory.
   */
  public Product product(int rows, int columns) {
    for (int i = 0; i < products.size(); i++) {
      Product one = products.get(i);
      if (one.depth() == rows && one.columns() == columns) {
        return one;
      }
    }
    Product product = new Product(PackedMatrix.in(packed, rows, columns), new float[columns]);
    products.add(product);
    return product;
  }
}
