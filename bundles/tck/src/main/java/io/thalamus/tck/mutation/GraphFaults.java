// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.tck.mutation.MutationFamily.Collector;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.RawSubgraph;
import java.util.ArrayList;
import java.util.List;

/** Faults in how operations and operands hang together. */
final class GraphFaults {
  private static final String TEMPORARY = "TEMPORARY_VARIABLE";
  private static final String OUTPUT = "SUBGRAPH_OUTPUT";

  private GraphFaults() {}

  /**
   * Moves readers of another operation's result to the front, and writers for another to the end.
   */
  static void executionOrder(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operations().size(); i++) {
      RawOperation operation = graph.operations().get(i);
      int index = i;
      if (operation.inputs().stream().anyMatch(input -> isComputed(graph.operands().get(input)))) {
        found.add(
            OperationFaults.place(graph, i) + " goes first, though it reads a computed operand",
            draft -> draft.operations().addFirst(draft.operations().remove(index)));
      }
      if (operation.outputs().stream().anyMatch(output -> isRead(graph, output))) {
        found.add(
            OperationFaults.place(graph, i) + " goes last, though others read its output",
            draft -> draft.operations().addLast(draft.operations().remove(index)));
      }
    }
  }

  /** A copy of an operation, which writes one output of the original again. */
  static void addWriter(RawSubgraph graph, Collector found) {
    OperationFaults.each(
        graph,
        RawOperation::outputs,
        (index, written) -> {
          RawOperation operation = graph.operations().get(index);
          found.add(
              OperationFaults.place(graph, index) + " writes output " + written + " twice",
              draft -> {
                List<Integer> outputs = new ArrayList<>(operation.outputs());
                for (int other = 0; other < outputs.size(); other++) {
                  if (other != written) {
                    outputs.set(other, draft.add(unread(draft.operand(outputs.get(other)))));
                  }
                }
                operation.inputs().forEach(input -> draft.addConsumers(input, 1));
                draft.operations().add(operation.withOutputs(outputs));
              });
        });
  }

  /** An output that others read is no longer written: the operation writes a new operand. */
  static void removeWrite(RawSubgraph graph, Collector found) {
    OperationFaults.each(
        graph,
        RawOperation::outputs,
        (index, output) -> {
          int written = graph.operations().get(index).outputs().get(output);
          if (isRead(graph, written)) {
            found.add(
                OperationFaults.place(graph, index) + " writes output " + output + " elsewhere",
                draft -> {
                  int added = draft.add(unread(draft.operand(written)));
                  draft.changeOperation(
                      index,
                      o -> o.withOutputs(OperationFaults.replaced(o.outputs(), output, added)));
                });
          }
        });
  }

  /** An operand is gone, and all uses of it. */
  static void removeOperand(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operands().size(); i++) {
      if (!isOptional(graph, i)) {
        int removed = i;
        found.add(
            "operand " + i + " and all its uses are gone",
            draft -> {
              draft.drop(removed);
              forget(draft.inputs(), removed);
              forget(draft.outputs(), removed);
              draft
                  .operations()
                  .replaceAll(
                      operation ->
                          operation
                              .withInputs(forgotten(operation.inputs(), removed))
                              .withOutputs(forgotten(operation.outputs(), removed)));
            });
      }
    }
  }

  private static List<Integer> forgotten(List<Integer> indexes, int removed) {
    List<Integer> changed = new ArrayList<>(indexes);
    forget(changed, removed);
    return changed;
  }

  private static void forget(List<Integer> indexes, int removed) {
    indexes.removeIf(index -> index == removed);
    indexes.replaceAll(index -> index > removed ? index - 1 : index);
  }

  /** Returns whether the graph may be legal without an operand. */
  private static boolean isOptional(RawSubgraph graph, int operand) {
    if (graph.operands().get(operand).consumers() == 0) {
      return true;
    }
    boolean alwaysRemovable = true;
    for (RawOperation operation : graph.operations()) {
      if (operation.outputs().contains(operand) && Signatures.hasOptionalOutputs(operation)) {
        return true;
      }
      for (int input = 0; input < operation.inputs().size(); input++) {
        if (operation.inputs().get(input) == operand) {
          alwaysRemovable &= Signatures.isRemovable(operation, input);
        }
      }
    }
    return alwaysRemovable;
  }

  /** Nobody writes what the operation wrote. */
  static void removeOperation(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operations().size(); i++) {
      int removed = i;
      found.add(
          OperationFaults.place(graph, i) + " is gone",
          draft ->
              draft
                  .operations()
                  .remove(removed)
                  .inputs()
                  .forEach(input -> draft.addConsumers(input, -1)));
    }
  }

  private static boolean isComputed(RawOperand operand) {
    return operand.lifetime().equals(TEMPORARY) || operand.lifetime().equals(OUTPUT);
  }

  private static boolean isRead(RawSubgraph graph, int operand) {
    return graph.operands().get(operand).consumers() > 0;
  }

  /** The same value once more, which no operation reads. */
  private static RawOperand unread(RawOperand operand) {
    return operand.withConsumers(0).withLifetime(TEMPORARY);
  }
}
