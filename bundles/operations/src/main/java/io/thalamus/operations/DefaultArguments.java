// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import java.util.List;
import java.util.Optional;

/**
 * The trailing arguments that later versions of NNAPI gave to operations. If they equal their
 * defaults, the operation means the same without them, and older devices understand it; so they are
 * taken off before a model is handed to devices, and before its feature level is judged. Stateless.
 *
 * <p>{@link OperationDefinition#isDefault} names them; AOSP's table is in {@code
 * ModelBuilder::getNumTrailingArgumentsToRemove}.
 */
public final class DefaultArguments {
  private DefaultArguments() {}

  /**
   * A valid model without the trailing arguments that equal their defaults; the same object where
   * there are none. Operands keep their places, so that some may be used by no operation any more.
   */
  public static Model strip(Model model, OperationCatalog catalog) {
    List<Subgraph> graphs = model.subgraphs().map(graph -> strip(model, graph, catalog)).toList();
    return isSame(graphs, model.subgraphs().toList())
        ? model
        : new Model(
            graphs.get(0),
            graphs.subList(1, graphs.size()),
            model.relaxComputationFloat32toFloat16());
  }

  private static Subgraph strip(Model model, Subgraph graph, OperationCatalog catalog) {
    List<Operation> operations =
        graph.operations().stream()
            .map(operation -> strip(model, graph, operation, catalog))
            .toList();
    return isSame(operations, graph.operations())
        ? graph
        : new Subgraph(graph.operands(), operations, graph.inputIndexes(), graph.outputIndexes());
  }

  private static Operation strip(
      Model model, Subgraph graph, Operation operation, OperationCatalog catalog) {
    Optional<OperationDefinition> definition = catalog.find(operation.type());
    if (definition.isEmpty()) {
      return operation;
    }
    int kept = kept(definition.get(), OperationView.of(model, graph, operation));
    return kept == operation.inputs().size()
        ? operation
        : new Operation(operation.type(), operation.inputs().subList(0, kept), operation.outputs());
  }

  private static boolean isSame(List<?> a, List<?> b) {
    boolean same = a.size() == b.size();
    for (int i = 0; same && i < a.size(); i++) {
      same = a.get(i) == b.get(i);
    }
    return same;
  }

  /** Returns the number of inputs in the shortest form of a valid operation that is valid. */
  static int kept(OperationDefinition definition, OperationView operation) {
    int kept = operation.inputs().size();
    for (int last = kept - 1; last >= 0 && definition.isDefault(operation, last); last--) {
      if (isValid(definition, operation.withInputs(last))) {
        kept = last;
      }
    }
    return kept;
  }

  private static boolean isValid(OperationDefinition definition, OperationView operation) {
    try {
      definition.validate(operation);
      return true;
    } catch (ValidationException e) {
      // As where two arguments come only together.
      return false;
    }
  }
}
