// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.operations.extension.MatrixMultiply.Matrix;
import io.thalamus.operations.extension.MatrixMultiply.Pair;
import io.thalamus.operations.extension.MatrixMultiply.Products;
import java.util.ArrayList;
import java.util.List;

/**
 * Pairs of matrices with the same second one and neighbouring first ones, which are one product.
 *
 * @param begin the first pair
 * @param count of pairs
 * @param firstOffset the first element of the first matrices
 * @param second the second matrix
 */
public record MatrixRun(int begin, int count, long firstOffset, Matrix second) {
  /** Returns the runs of all pairs, in order. */
  public static List<MatrixRun> of(Products products) {
    long matrix = (long) products.rows() * products.inner();
    List<Pair> pairs = products.pairs();
    List<MatrixRun> runs = new ArrayList<>();
    int end;
    for (int begin = 0; begin < pairs.size(); begin = end) {
      Pair pair = pairs.get(begin);
      end = begin + 1;
      while (end < pairs.size()
          && pairs.get(end).second().equals(pair.second())
          && pairs.get(end).first().offset() == pair.first().offset() + (end - begin) * matrix) {
        end++;
      }
      runs.add(new MatrixRun(begin, end - begin, pair.first().offset(), pair.second()));
    }
    return runs;
  }
}
