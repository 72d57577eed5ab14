// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import java.util.function.IntUnaryOperator;

/** The result for each value that an 8-bit input can store. Immutable. */
public final class LookupTable implements OperationParameters {
  private final int first;
  private final int[] results;

  private LookupTable(int first, int[] results) {
    this.first = first;
    this.results = results;
  }

  /** The table of a function over all stored values in a range. */
  static LookupTable of(IntRange domain, IntUnaryOperator function) {
    int[] results = new int[domain.max() - domain.min() + 1];
    for (int i = 0; i < results.length; i++) {
      results[i] = function.applyAsInt(domain.min() + i);
    }
    return new LookupTable(domain.min(), results);
  }

  /** The stored result for a stored input. */
  public int apply(int stored) {
    return results[stored - first];
  }
}
