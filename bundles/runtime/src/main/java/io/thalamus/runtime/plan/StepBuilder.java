// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.SubgraphInput;
import io.thalamus.model.Lifetime.SubgraphOutput;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Lifetime.TemporaryVariable;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.plan.PlanBuilder.DeviceOperations;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Cuts operations out of a graph into a model of their own, with operands in the order in which
 * they are first met. Not thread-safe; used once.
 *
 * <p>Inputs and outputs come in NNAPI's order: first those of the graph, then temporaries that
 * other steps compute, then outputs of the graph that other steps compute; first outputs of the
 * graph, then temporaries that others need, by index.
 */
final class StepBuilder {
  private final Model source;
  private final Subgraph graph;
  private final Set<Integer> neededElsewhere;

  private final List<Operand> operands = new ArrayList<>();
  private final List<Operation> operations = new ArrayList<>();
  private final List<Subgraph> referenced = new ArrayList<>();
  private final Map<Integer, Integer> operandMap = new HashMap<>();
  private final Map<Integer, Integer> referencedMap = new HashMap<>();

  private final Set<Integer> graphInputs = new LinkedHashSet<>();
  private final Set<Integer> temporaryInputs = new LinkedHashSet<>();
  private final Set<Integer> outputsAsInputs = new LinkedHashSet<>();
  private final Set<Integer> graphOutputs = new LinkedHashSet<>();
  private final Set<Integer> temporaryOutputs = new TreeSet<>();

  /**
   * A builder.
   *
   * @param neededElsewhere the temporaries of the graph that other nodes read
   */
  StepBuilder(Model source, Subgraph graph, Set<Integer> neededElsewhere) {
    this.source = source;
    this.graph = graph;
    this.neededElsewhere = neededElsewhere;
  }

  ExecutionStep build(int step, int subgraph, DeviceOperations spec) {
    for (int index : spec.operations()) {
      Operation operation = graph.operations().get(index);
      List<Integer> inputs = operation.inputs().stream().map(this::input).toList();
      List<Integer> outputs = operation.outputs().stream().map(this::output).toList();
      operations.add(new Operation(operation.type(), inputs, outputs));
    }
    List<Integer> inputs =
        Stream.of(graphInputs, temporaryInputs, outputsAsInputs).flatMap(Set::stream).toList();
    List<Integer> outputs = Stream.of(graphOutputs, temporaryOutputs).flatMap(Set::stream).toList();
    Subgraph main =
        new Subgraph(
            operands,
            operations,
            inputs.stream().map(operandMap::get).toList(),
            outputs.stream().map(operandMap::get).toList());
    return new ExecutionStep(
        step,
        spec.device(),
        subgraph,
        spec.operations(),
        new Model(main, referenced, source.relaxComputationFloat32toFloat16()),
        inputs,
        outputs);
  }

  private int input(int index) {
    Integer known = operandMap.get(index);
    if (known != null) {
      return known;
    }
    Operand operand = graph.operands().get(index);
    return switch (operand.lifetime()) {
      case SubgraphInput _ -> {
        graphInputs.add(index);
        yield add(index, operand);
      }
      case TemporaryVariable _ -> {
        temporaryInputs.add(index);
        yield add(index, operand.with(Lifetime.SUBGRAPH_INPUT));
      }
      case SubgraphOutput _ -> {
        outputsAsInputs.add(index);
        yield add(index, operand.with(Lifetime.SUBGRAPH_INPUT));
      }
      case SubgraphReference reference ->
          add(index, operand.with(new SubgraphReference(reference(reference.index()))));
      default -> add(index, operand);
    };
  }

  private int output(int index) {
    Operand operand = graph.operands().get(index);
    if (operand.lifetime() instanceof SubgraphOutput) {
      graphOutputs.add(index);
      return add(index, operand);
    }
    if (neededElsewhere.contains(index)) {
      temporaryOutputs.add(index);
      return add(index, operand.with(Lifetime.SUBGRAPH_OUTPUT));
    }
    return add(index, operand);
  }

  private int add(int index, Operand operand) {
    operands.add(operand);
    operandMap.put(index, operands.size() - 1);
    return operands.size() - 1;
  }

  /** Takes a referenced graph along, with all that it refers to itself. */
  private int reference(int index) {
    Integer known = referencedMap.get(index);
    if (known != null) {
      return known;
    }
    int place = referenced.size();
    Subgraph original = source.referenced().get(index);
    referenced.add(original);
    referencedMap.put(index, place);
    List<Operand> changed =
        original.operands().stream()
            .map(
                operand ->
                    operand.lifetime() instanceof SubgraphReference inner
                        ? operand.with(new SubgraphReference(reference(inner.index())))
                        : operand)
            .toList();
    referenced.set(
        place,
        new Subgraph(
            changed, original.operations(), original.inputIndexes(), original.outputIndexes()));
    return place;
  }
}
