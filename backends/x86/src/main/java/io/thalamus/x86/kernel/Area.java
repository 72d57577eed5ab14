// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

/**
 * Results in lines: of each line some blocks of neighbours that are computed together, and some
 * blocks with one result less.
 *
 * @param lines below each other
 * @param rows results of a block
 * @param whole blocks with so many
 * @param less blocks with one less
 * @param rowStep bytes from what one result sees to what its neighbour does
 * @param lineStep bytes from what a line sees to what the next one does
 * @param resultLineStep bytes from the results of a line to those of the next one
 */
public record Area(
    int lines, int rows, int whole, int less, int rowStep, int lineStep, int resultLineStep) {
  /** Returns the results of a line. */
  public int results() {
    return rows * whole + (rows - 1) * less;
  }

  /** Returns one of its lines. */
  public Area line() {
    return new Area(1, rows, whole, less, rowStep, lineStep, resultLineStep);
  }

  /** Returns how many bytes behind what the first result sees the last one begins to see. */
  long seen() {
    return (lines - 1L) * lineStep + (results() - 1L) * rowStep;
  }

  /** Returns how many bytes behind the first result the last one stands. */
  long written(int resultStep) {
    return (lines - 1L) * resultLineStep + (results() - 1L) * resultStep;
  }
}
