// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.Shape;
import java.util.List;

/**
 * The rows of a tensor of sequences.
 *
 * @param isTimeMajor whether the first dimension is time, not batch
 * @param steps steps of time
 * @param batches independent sequences
 */
public record Sequence(boolean isTimeMajor, int steps, int batches) {
  /** The sequences of a tensor with three dimensions. */
  static Sequence of(Shape shape, boolean isTimeMajor) {
    return isTimeMajor
        ? new Sequence(true, shape.dimension(0), shape.dimension(1))
        : new Sequence(false, shape.dimension(1), shape.dimension(0));
  }

  /** A tensor of such sequences with rows of this length. */
  Shape shape(int depth) {
    return isTimeMajor ? Shape.of(steps, batches, depth) : Shape.of(batches, steps, depth);
  }

  /** Returns the row of a tensor that belongs to a step and a batch. */
  public int row(int step, int batch) {
    return isTimeMajor ? step * batches + batch : batch * steps + step;
  }

  /**
   * The places of the results of a cell that runs over sequences.
   *
   * @param isBackward whether it runs from the last step to the first
   * @param output index of the output with a row for each step
   * @param depth length of its rows, which two cells may share
   * @param offset where in its rows the results of this cell begin
   * @param stateOutputs indexes of the outputs for the states after the last step; empty when they
   *     are not requested
   */
  public record Route(
      boolean isBackward, int output, int depth, int offset, List<Integer> stateOutputs) {
    public Route {
      stateOutputs = List.copyOf(stateOutputs);
    }
  }
}
