// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.ValidationException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A graph of which everything is known before it runs: what a compiler of whole graphs starts from.
 * Immutable.
 *
 * @param graph as the model has it
 * @param operations by operation of the graph, with shapes and parameters
 * @param shapes by operand
 */
public record StaticGraph(Subgraph graph, List<ResolvedOperation> operations, List<Shape> shapes) {
  public StaticGraph {
    operations = List.copyOf(operations);
    shapes = List.copyOf(shapes);
  }

  /**
   * The graph with all shapes and parameters computed.
   *
   * @throws ValidationException where they do not fit together, or only executing would tell them
   */
  public static StaticGraph resolve(Subgraph graph, OperationCatalog catalog)
      throws ValidationException {
    Shape[] shapes = GraphProgram.givenShapes(graph);
    MemorySegment[] values = new MemorySegment[shapes.length];
    List<ResolvedOperation> operations = new ArrayList<>();
    for (int i = 0; i < graph.operations().size(); i++) {
      Operation operation = graph.operations().get(i);
      KernelStep step =
          new KernelStep(i, graph, operation, catalog.find(operation.type()).orElseThrow(), null);
      OperationView view = step.view(shapes, values);
      if (step.isMeasured() || !step.isReady(view)) {
        throw new ValidationException(
            step.place() + " has shapes or values that are known only while executing");
      }
      operations.add(step.resolve(view, shapes));
    }
    for (int i = 0; i < shapes.length; i++) {
      shapes[i] = shapes[i] == null ? graph.operands().get(i).shape() : shapes[i];
    }
    return new StaticGraph(graph, operations, List.of(shapes));
  }

  /**
   * Returns the implementations of all operations, in their order.
   *
   * @throws ValidationException where an operation is not in the table
   */
  public <T> List<T> implementations(OperationTable<T> table, OperationCatalog catalog)
      throws ValidationException {
    List<T> found = new ArrayList<>();
    for (ResolvedOperation operation : operations) {
      OperationView view = operation.view();
      OperandType type = catalog.find(view.type()).orElseThrow().kernelType(view);
      found.add(
          table
              .find(type, view)
              .orElseThrow(
                  () -> new ValidationException(view.type().text() + " does not take this form")));
    }
    return found;
  }

  /**
   * Returns the parameters of an operation, for a device that asks for its form; empty where they
   * do not fit together.
   *
   * @param operation of a type that the standard catalog has, with known shapes and values
   */
  public static <T> Optional<T> parameters(OperationView operation, Class<T> type) {
    try {
      return Optional.of(
          type.cast(
              OperationCatalog.standard().find(operation.type()).orElseThrow().resolve(operation)));
    } catch (ValidationException e) {
      return Optional.empty();
    }
  }
}
