// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.api.Plan;
import io.thalamus.api.Plan.PlannedOperation;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PlanNode.IfNode;
import io.thalamus.runtime.plan.PlanNode.WhileNode;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** A builder of a plan out of decisions. Not thread-safe; used for one plan. */
public final class PlanBuilder {
  /** The name in place of a device's where the runtime itself executes control flow. */
  public static final String INTERPRETER = "interpreter";

  private final Model model;
  private final String policy;
  private final List<ExecutionStep> steps = new ArrayList<>();
  private final Map<List<Integer>, PlannedOperation> operations = new LinkedHashMap<>();

  /** A builder of a plan for a model, by a policy of this name. */
  public PlanBuilder(Model model, String policy) {
    this.model = model;
    this.policy = policy;
  }

  /** A node before the values that cross its boundary are known. */
  public sealed interface NodeSpec permits DeviceOperations, IfNode, WhileNode {}

  /** Operations for a device, in order: an {@link ExecutionStep} to be. */
  public record DeviceOperations(RegisteredDevice device, List<Integer> operations)
      implements NodeSpec {}

  /** Adds the decision for an operation; the first for it stays. */
  public void describe(PlannedOperation operation) {
    operations.putIfAbsent(List.of(operation.subgraph(), operation.index()), operation);
  }

  /** Returns the plan that gives the whole model to one device. */
  public PlannedModel simple(RegisteredDevice device) {
    List<Integer> all = new ArrayList<>();
    for (int i = 0; i < model.main().operations().size(); i++) {
      all.add(i);
    }
    ExecutionStep step =
        new ExecutionStep(
            0, device, 0, all, model, model.main().inputIndexes(), model.main().outputIndexes());
    steps.add(step);
    return compound(new PlannedGraph(0, model.main(), List.of(step)));
  }

  /** Returns the plan of this main graph. */
  public PlannedModel compound(PlannedGraph main) {
    List<PlannedOperation> sorted =
        operations.values().stream().sorted(PlanBuilder::compare).toList();
    List<Plan.Step> described = new ArrayList<>();
    describe(main, described);
    return new PlannedModel(model, main, steps, new Plan(policy, sorted, described));
  }

  // Written out: comparators of the JDK are made when a new process first asks for them.
  private static int compare(PlannedOperation a, PlannedOperation b) {
    return a.subgraph() == b.subgraph()
        ? Integer.compare(a.index(), b.index())
        : Integer.compare(a.subgraph(), b.subgraph());
  }

  /** Returns a graph of these nodes. */
  public PlannedGraph graph(int subgraph, Subgraph graph, List<NodeSpec> specs) {
    List<PlanNode> nodes = new ArrayList<>();
    for (NodeSpec spec : specs) {
      nodes.add(
          switch (spec) {
            case DeviceOperations operations -> step(subgraph, graph, operations, specs);
            case IfNode node -> node;
            case WhileNode node -> node;
          });
    }
    return new PlannedGraph(subgraph, graph, nodes);
  }

  private ExecutionStep step(
      int subgraph, Subgraph graph, DeviceOperations spec, List<NodeSpec> specs) {
    Set<Integer> readElsewhere = new HashSet<>();
    for (NodeSpec other : specs) {
      if (other != spec) {
        reads(graph, other).forEach(readElsewhere::add);
      }
    }
    ExecutionStep step =
        new StepBuilder(model, graph, readElsewhere).build(steps.size(), subgraph, spec);
    steps.add(step);
    return step;
  }

  private static Stream<Integer> reads(Subgraph graph, NodeSpec spec) {
    return switch (spec) {
      case DeviceOperations given ->
          given.operations().stream()
              .flatMap(operation -> graph.operations().get(operation).inputs().stream());
      case IfNode node -> node.inputs().stream();
      case WhileNode node -> node.inputs().stream();
    };
  }

  private static void describe(PlannedGraph graph, List<Plan.Step> described) {
    for (PlanNode node : graph.nodes()) {
      String device = INTERPRETER;
      List<Integer> done = List.of();
      List<Integer> read = node.inputs();
      List<PlannedGraph> inner = List.of();
      switch (node) {
        case ExecutionStep step -> {
          device = step.device().id();
          done = step.operations();
          read = read(graph, step);
        }
        case IfNode d -> {
          done = List.of(d.operation());
          inner = List.of(d.thenGraph(), d.elseGraph());
        }
        case WhileNode d -> {
          done = List.of(d.operation());
          inner = List.of(d.condition(), d.body());
        }
      }
      described.add(
          new Plan.Step(
              device,
              graph.subgraph(),
              done,
              crossings(graph, read),
              crossings(graph, node.outputs())));
      inner.forEach(g -> describe(g, described));
    }
  }

  /** An input of the model that nobody reads is passed to a device, but does not cross. */
  private static List<Integer> read(PlannedGraph graph, ExecutionStep step) {
    Set<Integer> read = new HashSet<>();
    for (int operation : step.operations()) {
      read.addAll(graph.graph().operations().get(operation).inputs());
    }
    return step.inputs().stream().filter(read::contains).toList();
  }

  private static List<Plan.Crossing> crossings(PlannedGraph graph, List<Integer> operands) {
    return operands.stream()
        .map(
            index -> {
              Operand operand = graph.graph().operands().get(index);
              return new Plan.Crossing(
                  index, operand.name(), operand.isSizeKnown() ? operand.byteSize() : 0);
            })
        .toList();
  }
}
