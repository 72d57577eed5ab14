// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

/**
 * The place of a layer's results in a tensor, and the inputs that the first of them reads.
 *
 * @param top lines of the padded source above what the first result sees
 * @param left cells left of it
 * @param lines of the tensor
 * @param columns of the tensor
 * @param line of the first result
 * @param lineStep from a line of results to the next
 * @param column of the first result
 * @param columnStep from a result to the next one beside it
 * @param cell channels of a cell of the source
 * @param channel the first of them that the layer sees
 * @param resultCell channels of a cell of the tensor
 * @param resultChannel the first of them that the layer writes
 */
record Placement(
    int top,
    int left,
    int lines,
    int columns,
    int line,
    int lineStep,
    int column,
    int columnStep,
    int cell,
    int channel,
    int resultCell,
    int resultChannel) {
  /** Returns that of results that fill some channels of their tensor, and see some. */
  static Placement group(
      StoredLayer layer, int cell, int channel, int resultCell, int resultChannel) {
    return new Placement(
        0,
        0,
        layer.resultHeight(),
        layer.resultWidth(),
        0,
        1,
        0,
        1,
        cell,
        channel,
        resultCell,
        resultChannel);
  }
}
