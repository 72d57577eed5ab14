// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.List;

/**
 * A graph of operations over operands, in an order in which they can be executed. Immutable, and
 * not validated: {@code operations} knows the rules.
 *
 * @param operands all values
 * @param operations the steps, each after those whose results it reads
 * @param inputIndexes the operands that a caller gives, in order
 * @param outputIndexes the operands that a caller gets, in order
 */
public record Subgraph(
    List<Operand> operands,
    List<Operation> operations,
    List<Integer> inputIndexes,
    List<Integer> outputIndexes) {
  public Subgraph {
    operands = List.copyOf(operands);
    operations = List.copyOf(operations);
    inputIndexes = List.copyOf(inputIndexes);
    outputIndexes = List.copyOf(outputIndexes);
  }

  /** The operand that a caller gives as input number {@code index}. */
  public Operand input(int index) {
    return operands.get(inputIndexes.get(index));
  }

  /** The operand that a caller gets as output number {@code index}. */
  public Operand output(int index) {
    return operands.get(outputIndexes.get(index));
  }
}
