// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Subgraph;
import java.util.List;

/** Where IF and WHILE have what among their inputs, as NNAPI lays it down. Stateless. */
final class ControlFlow {
  static final int IF_CONDITION = 0;
  static final int IF_THEN = 1;
  static final int IF_ELSE = 2;
  static final int IF_FIRST_INPUT = 3;
  static final int WHILE_CONDITION = 0;
  static final int WHILE_BODY = 1;
  static final int WHILE_FIRST_INPUT = 2;

  private ControlFlow() {}

  static boolean isControlFlow(Operation operation) {
    return operation.type() == OperationCode.IF || operation.type() == OperationCode.WHILE;
  }

  /** The index among the referenced graphs that an input of a control flow operation names. */
  static int referenced(Subgraph graph, Operation operation, int input) {
    return ((SubgraphReference) graph.operands().get(operation.inputs().get(input)).lifetime())
        .index();
  }

  /** Whether all values that go in and out of a control flow operation have known sizes. */
  static boolean hasKnownSizes(Model model, Subgraph graph, Operation operation) {
    return knownSizes(graph, operation.inputs())
        && knownSizes(graph, operation.outputs())
        && graphs(graph, operation).stream()
            .map(model.referenced()::get)
            .allMatch(g -> knownSizes(g, g.inputIndexes()) && knownSizes(g, g.outputIndexes()));
  }

  /** The indexes among the referenced graphs that a control flow operation names. */
  static List<Integer> graphs(Subgraph graph, Operation operation) {
    return operation.type() == OperationCode.IF
        ? List.of(referenced(graph, operation, IF_THEN), referenced(graph, operation, IF_ELSE))
        : List.of(
            referenced(graph, operation, WHILE_CONDITION),
            referenced(graph, operation, WHILE_BODY));
  }

  private static boolean knownSizes(Subgraph graph, List<Integer> operands) {
    return operands.stream().allMatch(index -> graph.operands().get(index).isSizeKnown());
  }

  /** The inputs of a control flow operation from the given one on. */
  static List<Integer> inputsFrom(Operation operation, int first) {
    return operation.inputs().subList(first, operation.inputs().size());
  }
}
