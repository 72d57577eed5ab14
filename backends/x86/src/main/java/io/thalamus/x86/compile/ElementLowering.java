// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.kernel.ElementFunction;
import java.util.Optional;
import java.util.function.Function;

/**
 * An operation whose results are a function of single elements of its first inputs.
 *
 * @param function of an operation
 */
record ElementLowering(Function<ResolvedOperation, ElementFunction> function) implements Lowering {
  @Override
  public void lower(ResolvedOperation operation, Operands operands, ProgramBuilder program) {
    ElementChain chain = new ElementChain();
    chain.add(operation, function.apply(operation), operands);
    chain.lower(operands.output(), operation.outputShape(0), program);
  }

  @Override
  public Optional<ElementFunction> element(ResolvedOperation operation) {
    return Optional.of(function.apply(operation)).filter(one -> !one.isShort());
  }
}
