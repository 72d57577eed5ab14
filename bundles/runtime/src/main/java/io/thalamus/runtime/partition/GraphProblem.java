// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import io.thalamus.operations.OperationView;
import io.thalamus.runtime.policy.Candidate;
import io.thalamus.runtime.policy.PartitionProblem;
import io.thalamus.runtime.registry.RegisteredDevice;
import io.thalamus.runtime.registry.Support;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A graph with the answers of the devices, each asked once when it is made. Not thread-safe. */
final class GraphProblem implements PartitionProblem {
  private final Model model;
  private final int subgraph;
  private final ExecutionPreference preference;
  private final List<RegisteredDevice> devices;
  private final List<Candidate> candidates;
  private final List<Support> support = new ArrayList<>();
  private final DeclaredCosts costs;
  private final Partitioner partitioner;
  private final FeatureLevel[] levels;
  private final List<Set<String>> extensions;
  private ExpectedCosts expected;

  GraphProblem(
      Model model,
      int subgraph,
      ExecutionPreference preference,
      List<RegisteredDevice> devices,
      DeclaredCosts costs,
      Partitioner partitioner) {
    this.model = model;
    this.subgraph = subgraph;
    this.preference = preference;
    this.devices = devices;
    this.costs = costs;
    this.partitioner = partitioner;
    this.levels =
        graph().operations().stream()
            .map(operation -> partitioner.rules().level(model, graph(), operation))
            .toArray(FeatureLevel[]::new);
    this.extensions = graph().operations().stream().map(this::extensions).toList();
    this.candidates =
        devices.stream()
            .map(device -> new Candidate(device.id(), device.info(), device.isReference()))
            .toList();
    Model asked =
        subgraph == 0
            ? model
            : new Model(graph(), model.referenced(), model.relaxComputationFloat32toFloat16());
    devices.forEach(device -> support.add(device.supportedOperations(asked)));
  }

  @Override
  public Model model() {
    return model;
  }

  @Override
  public int subgraph() {
    return subgraph;
  }

  @Override
  public ExecutionPreference preference() {
    return preference;
  }

  @Override
  public List<Candidate> candidates() {
    return candidates;
  }

  @Override
  public OptionalInt reference() {
    return IntStream.range(0, candidates.size())
        .filter(candidate -> candidates.get(candidate).isReference())
        .findFirst();
  }

  @Override
  public boolean supports(int candidate, int operation) {
    return support.get(candidate).operations().get(operation)
        && speaks(candidate, operation)
        && unknownExtension(candidate, operation).isEmpty();
  }

  private boolean speaks(int candidate, int operation) {
    return candidates.get(candidate).info().featureLevel().isAtLeast(levels[operation]);
  }

  /** The extensions that an operation needs, by itself or for its operands. */
  Set<String> extensions(int operation) {
    return extensions.get(operation);
  }

  private Set<String> extensions(Operation given) {
    Set<String> names = new TreeSet<>();
    if (given.type() instanceof ExtensionOperationType type) {
      names.add(type.extension());
    }
    Stream.concat(given.inputs().stream(), given.outputs().stream())
        .map(index -> graph().operands().get(index).type())
        .forEach(
            operandType -> {
              if (operandType instanceof ExtensionOperandType type) {
                names.add(type.extension());
              }
            });
    return names;
  }

  /** The first extension that an operation needs and a candidate does not name. */
  private Optional<String> unknownExtension(int candidate, int operation) {
    Set<String> known = candidates.get(candidate).info().extensions();
    return extensions(operation).stream().filter(name -> !known.contains(name)).findFirst();
  }

  @Override
  public boolean isControlFlow(int operation) {
    return ControlFlow.isControlFlow(graph().operations().get(operation).type());
  }

  @Override
  public boolean isInterpretable(int operation) {
    Operation candidate = graph().operations().get(operation);
    return ControlFlow.isControlFlow(candidate.type())
        && ControlFlow.hasKnownSizes(OperationView.of(model, graph(), candidate));
  }

  @Override
  public float declaredCost(int candidate, int operation) {
    return costs.of(candidates.get(candidate).info(), graph(), operation);
  }

  /** Returns the costs, made at the first call: a question of support needs none. */
  private ExpectedCosts expected() {
    if (expected == null) {
      expected = new ExpectedCosts(model, graph(), candidates, partitioner.measurements());
    }
    return expected;
  }

  @Override
  public float declaredPower(int candidate, int operation) {
    return expected().declaredPower(candidate, operation);
  }

  @Override
  public double expectedNanos(int candidate, int operation) {
    return expected().nanos(candidate, operation);
  }

  @Override
  public boolean isMeasured(int candidate, int operation) {
    return expected().isMeasured(candidate, operation);
  }

  @Override
  public double expectedEnergy(int candidate, int operation) {
    return expected().energy(candidate, operation);
  }

  @Override
  public double startNanos(int candidate) {
    return expected().startNanos(candidate);
  }

  @Override
  public double transferNanos(int candidate, long bytes) {
    return expected().transferNanos(candidate, bytes);
  }

  @Override
  public double referenceEnergy() {
    double sum = 0;
    for (int operation = 0; operation < graph().operations().size(); operation++) {
      sum += referenceEnergy(operation);
    }
    return sum;
  }

  /** The energy that the reference alone would need for one operation. */
  double referenceEnergy(int operation) {
    return expected().reference(operation);
  }

  @Override
  public OptionalDouble powerBudget() {
    return partitioner.powerBudget();
  }

  /** The declared cost on each device that supports the operation. */
  Map<String, Double> costsOfSupporters(int operation) {
    Map<String, Double> all = new TreeMap<>();
    for (int candidate = 0; candidate < candidates.size(); candidate++) {
      if (supports(candidate, operation)) {
        all.put(devices.get(candidate).id(), (double) declaredCost(candidate, operation));
      }
    }
    return all;
  }

  /** Returns the reason why a candidate does not support an operation. */
  String objection(int candidate, int operation) {
    if (!speaks(candidate, operation)) {
      return "it speaks NN HAL "
          + candidates.get(candidate).info().featureLevel()
          + ", the operation needs "
          + levels[operation];
    }
    return unknownExtension(candidate, operation)
        .map(name -> "it does not know the extension " + name)
        .orElse(support.get(candidate).reason());
  }

  /** The name of an operation in messages. */
  String describe(int operation) {
    Subgraph graph = graph();
    String place = subgraph == 0 ? "" : " of subgraph " + (subgraph - 1);
    return graph.operations().get(operation).type().text()
        + " (operation "
        + operation
        + place
        + ")";
  }
}
