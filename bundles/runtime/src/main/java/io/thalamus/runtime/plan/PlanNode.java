// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.model.Model;
import io.thalamus.runtime.plan.PlanBuilder.NodeSpec;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.List;
import java.util.stream.Stream;

/**
 * A unit of execution: operations on a device, or one control flow operation by the interpreter.
 * Immutable.
 *
 * <p>Operands are indexes in the graph that the node belongs to.
 */
public sealed interface PlanNode {
  /** The operands that it reads and that are no constants of its own, in order. */
  List<Integer> inputs();

  /** The operands that it writes for others, in order. */
  List<Integer> outputs();

  /**
   * Operations on a device, with a model of their own.
   *
   * @param index the place among all execution steps of the plan
   * @param subgraph the graph of the operations: 0 for the main one
   * @param operations in the order in which they were given to the device
   * @param model what the device prepares
   * @param inputs for each input of the model, the operand of the graph
   * @param outputs for each output of the model, the operand of the graph
   */
  record ExecutionStep(
      int index,
      RegisteredDevice device,
      int subgraph,
      List<Integer> operations,
      Model model,
      List<Integer> inputs,
      List<Integer> outputs)
      implements PlanNode {
    public ExecutionStep {
      operations = List.copyOf(operations);
      inputs = List.copyOf(inputs);
      outputs = List.copyOf(outputs);
    }

    /** The operations in messages: the first by name and place, and how many more. */
    public String describe() {
      // The step's model has the same operations in the same order.
      String type = model().main().operations().get(0).type().text();
      String place = subgraph == 0 ? "" : " of subgraph " + (subgraph - 1);
      int more = operations.size() - 1;
      return type
          + " (operation "
          + operations.get(0)
          + place
          + (more == 0 ? ")" : more == 1 ? ", and 1 more)" : ", and " + more + " more)");
    }
  }

  /**
   * An IF whose branches are plans themselves. Branch outputs stand where the IF's own do.
   *
   * @param condition the operand that decides
   * @param arguments the operands that become the inputs of the branch
   */
  record IfNode(
      int operation,
      int condition,
      List<Integer> arguments,
      List<Integer> outputs,
      PlannedGraph thenGraph,
      PlannedGraph elseGraph)
      implements PlanNode, NodeSpec {
    public IfNode {
      arguments = List.copyOf(arguments);
      outputs = List.copyOf(outputs);
    }

    @Override
    public List<Integer> inputs() {
      return Stream.concat(Stream.of(condition), arguments.stream()).distinct().toList();
    }
  }

  /**
   * A WHILE whose condition and body are plans themselves.
   *
   * @param inputs the first values of the loop's state
   */
  record WhileNode(
      int operation,
      List<Integer> inputs,
      List<Integer> outputs,
      PlannedGraph condition,
      PlannedGraph body)
      implements PlanNode, NodeSpec {
    public WhileNode {
      inputs = List.copyOf(inputs);
      outputs = List.copyOf(outputs);
    }
  }
}
