// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.FusedActivation;

/**
 * A function of runs of two tensors of 32-bit elements, each read on or repeated; a block is a run.
 * All steps are in elements.
 *
 * @param pair of elements
 * @param count elements of a run
 * @param isFirstRepeated whether the first stays at one element
 * @param isSecondRepeated whether the second does
 * @param firstStep from one run of the first to the next
 * @param secondStep the same of the second
 * @param activation of floats
 */
public record Pairs(
    Pair pair,
    int count,
    boolean isFirstRepeated,
    boolean isSecondRepeated,
    int firstStep,
    int secondStep,
    FusedActivation activation)
    implements FunctionSource {
  /** One run of floats. */
  public Pairs(
      Pair pair,
      int count,
      boolean isFirstRepeated,
      boolean isSecondRepeated,
      FusedActivation activation) {
    this(pair, count, isFirstRepeated, isSecondRepeated, 0, 0, activation);
  }

  /** Returns the function: o0 is the first, o1 the result, o2 the second, in memory. */
  @Override
  public Function write(Emitter emitter) {
    Chain.Source first = new Chain.Source(isFirstRepeated, firstStep);
    Chain.Source second = new Chain.Source(isSecondRepeated, secondStep);
    ElementFunction function = new ElementFunction.Paired(pair, activation);
    return (function.operands() == 1
            ? Chain.of(function, count, first)
            : Chain.of(function, count, first, second))
        .write(emitter);
  }
}
