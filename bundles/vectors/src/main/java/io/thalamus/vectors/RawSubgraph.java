// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.util.ArrayList;
import java.util.List;

/**
 * A graph as it stands in a file. Immutable; nothing is checked.
 *
 * @param operands index = operand index
 * @param operations in an order in which they can be executed
 * @param inputIndexes operand indexes in the order of the signature
 * @param outputIndexes operand indexes in the order of the signature
 */
public record RawSubgraph(
    List<RawOperand> operands,
    List<RawOperation> operations,
    List<Integer> inputIndexes,
    List<Integer> outputIndexes) {
  public RawSubgraph {
    operands = List.copyOf(operands);
    operations = List.copyOf(operations);
    inputIndexes = List.copyOf(inputIndexes);
    outputIndexes = List.copyOf(outputIndexes);
  }

  public RawSubgraph withOperands(List<RawOperand> value) {
    return new RawSubgraph(value, operations, inputIndexes, outputIndexes);
  }

  /** The same graph with one operand replaced. */
  public RawSubgraph withOperand(int index, RawOperand value) {
    return withOperands(replaced(operands, index, value));
  }

  public RawSubgraph withOperations(List<RawOperation> value) {
    return new RawSubgraph(operands, value, inputIndexes, outputIndexes);
  }

  /** The same graph with one operation replaced. */
  public RawSubgraph withOperation(int index, RawOperation value) {
    return withOperations(replaced(operations, index, value));
  }

  public RawSubgraph withInputIndexes(List<Integer> value) {
    return new RawSubgraph(operands, operations, value, outputIndexes);
  }

  public RawSubgraph withOutputIndexes(List<Integer> value) {
    return new RawSubgraph(operands, operations, inputIndexes, value);
  }

  private static <T> List<T> replaced(List<T> list, int index, T value) {
    List<T> changed = new ArrayList<>(list);
    changed.set(index, value);
    return changed;
  }
}
