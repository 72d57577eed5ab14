// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

/**
 * Where the results of a layer stand in a tensor, and what the first of them sees.
 *
 * @param top lines of the padded source above what the first result sees
 * @param left cells left of it
 * @param lines of the tensor
 * @param columns of the tensor
 * @param line of the first result
 * @param lineStep from a line of results to the next
 * @param column of the first result
 * @param columnStep from a result to the next one beside it
 */
record Placement(
    int top, int left, int lines, int columns, int line, int lineStep, int column, int columnStep) {
  /** Returns that of results that fill their tensor. */
  static Placement whole(StoredLayer layer) {
    return new Placement(0, 0, layer.resultHeight(), layer.resultWidth(), 0, 1, 0, 1);
  }
}
