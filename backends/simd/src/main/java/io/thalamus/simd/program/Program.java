// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import java.util.List;

/**
 * A compiled graph: steps that are run one after the other in a frame. Immutable.
 *
 * @param steps bound to their places
 * @param inputs by input of the graph, its place
 * @param outputs by output of the graph, its place
 * @param constants that stand in the frame
 * @param floats elements of array 0 of floats
 * @param bytes elements of array 0 of bytes
 */
public record Program(
    List<Step> steps,
    List<Tensor> inputs,
    List<Tensor> outputs,
    List<Tensor> constants,
    int floats,
    int bytes) {
  public Program {
    steps = List.copyOf(steps);
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    constants = List.copyOf(constants);
  }

  /** Returns the number of arrays of a kind that a frame has. */
  int arrays() {
    return 1 + inputs.size() + outputs.size();
  }

  int scratchFloats() {
    return steps.stream().mapToInt(Step::scratchFloats).max().orElse(0);
  }

  int scratchInts() {
    return steps.stream().mapToInt(Step::scratchInts).max().orElse(0);
  }
}
