// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import java.util.List;
import java.util.function.ToIntFunction;

/**
 * A compiled graph: steps that are run one after the other in a frame. Immutable.
 *
 * @param steps bound to their places
 * @param operations by step, the operation of the graph that it computes, alone or with others
 * @param inputs by input of the graph, its place
 * @param outputs by output of the graph, its place
 * @param constants that stand in the frame
 * @param sizes by {@link ElementKind}, the elements of array 0
 */
public record Program(
    List<Step> steps,
    List<Integer> operations,
    List<Tensor> inputs,
    List<Tensor> outputs,
    List<Tensor> constants,
    List<Integer> sizes) {
  public Program {
    steps = List.copyOf(steps);
    operations = List.copyOf(operations);
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    constants = List.copyOf(constants);
    sizes = List.copyOf(sizes);
  }

  /**
   * Returns the number of arrays that a frame has: 0, one for each kind, and those of arguments.
   */
  int arrays() {
    return 1 + inputs.size() + outputs.size();
  }

  /** Returns the bytes of the arrays that most tensors share. */
  public long bytes() {
    long bytes = 0;
    for (ElementKind kind : ElementKind.values()) {
      bytes += (long) sizes.get(kind.ordinal()) * kind.size();
    }
    return bytes;
  }

  /** Returns the memory of a thread. */
  Scratch newScratch() {
    return new Scratch(
        most(Step::scratchFloats), most(Step::scratchInts), most(Step::scratchPacked));
  }

  private int most(ToIntFunction<Step> need) {
    return steps.stream().mapToInt(need).max().orElse(0);
  }
}
