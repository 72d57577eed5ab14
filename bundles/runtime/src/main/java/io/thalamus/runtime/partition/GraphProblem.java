// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationView;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.measurement.OperationSignature;
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

/**
 * A graph with the answers of the devices, each asked once when it is made, and with the times that
 * its operations are expected to take on each of them. Not thread-safe.
 *
 * <p>A time that was measured on the device counts. If there is none, the ratio that the device
 * declares is applied to what the reference needs; and where that was not measured either, nor on
 * any other candidate, it is estimated from multiply-accumulates and bytes.
 */
final class GraphProblem implements PartitionProblem {
  /** The speed of the plain kernels of the reference: rough, but of the right order. */
  private static final double REFERENCE_NANOS_PER_MAC = 1.2;

  private static final double REFERENCE_NANOS_PER_BYTE = 0.8;
  private static final double REFERENCE_NANOS_PER_OPERATION = 1_500;

  /** A device that does not mention a type declares the largest number for it. */
  private static final double LARGEST_RATIO = 1e6;

  private final Model model;
  private final int subgraph;
  private final ExecutionPreference preference;
  private final List<RegisteredDevice> devices;
  private final List<Candidate> candidates;
  private final List<Support> support = new ArrayList<>();
  private final DeclaredCosts costs;
  private final Partitioner partitioner;

  /** What each operation needs; null until it is first asked for. */
  private final FeatureLevel[] levels;

  private final List<Set<String>> extensions;
  private final DeclaredCosts times;
  private final DeclaredCosts powers;

  /** Measured times by candidate and operation, or NaN; null until costs are first asked for. */
  private double[][] measured;

  /** The times of the reference by operation, measured or not. */
  private double[] reference;

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
    this.times = new DeclaredCosts(model, ExecutionPreference.FAST_SINGLE_ANSWER);
    this.powers = new DeclaredCosts(model, ExecutionPreference.LOW_POWER);
    this.partitioner = partitioner;
    this.levels = new FeatureLevel[graph().operations().size()];
    this.extensions = graph().operations().stream().map(this::extensions).toList();
    this.candidates =
        devices.stream()
            .map(device -> new Candidate(device.id(), device.info(), device.isReference()))
            .toList();
    Model asked =
        subgraph == 0
            ? model
            : new Model(graph(), model.referenced(), model.relaxComputationFloat32toFloat16());
    devices.forEach(
        device -> support.add(device.supportedOperations(asked, Admission.WHILE_SERVING)));
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
    for (int i = 0; i < candidates.size(); i++) {
      if (candidates.get(i).isReference()) {
        return OptionalInt.of(i);
      }
    }
    return OptionalInt.empty();
  }

  @Override
  public boolean supports(int candidate, int operation) {
    return support.get(candidate).operations().get(operation)
        && speaks(candidate, operation)
        && unknownExtension(candidate, operation).isEmpty();
  }

  private boolean speaks(int candidate, int operation) {
    FeatureLevel spoken = candidates.get(candidate).info().featureLevel();
    // No operation needs more than V1_3.
    return spoken.isAtLeast(FeatureLevel.V1_3) || spoken.isAtLeast(level(operation));
  }

  private FeatureLevel level(int operation) {
    if (levels[operation] == null) {
      levels[operation] =
          partitioner.rules().level(model, graph(), graph().operations().get(operation));
    }
    return levels[operation];
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
    for (List<Integer> operands : List.of(given.inputs(), given.outputs())) {
      for (int index : operands) {
        if (graph().operands().get(index).type() instanceof ExtensionOperandType type) {
          names.add(type.extension());
        }
      }
    }
    return names;
  }

  /** The first extension that an operation needs and a candidate does not name. */
  private Optional<String> unknownExtension(int candidate, int operation) {
    Set<String> known = candidates.get(candidate).info().extensions();
    for (String name : extensions(operation)) {
      if (!known.contains(name)) {
        return Optional.of(name);
      }
    }
    return Optional.empty();
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

  /** Finds the expected times at the first call: a question of support needs none. */
  private void expect() {
    if (measured == null) {
      measured = new double[candidates.size()][levels.length];
      reference = new double[levels.length];
      for (int operation = 0; operation < levels.length; operation++) {
        lookUp(operation);
      }
    }
  }

  private void lookUp(int operation) {
    Optional<String> signature =
        OperationSignature.of(model, graph(), graph().operations().get(operation));
    double known = Double.NaN;
    for (int candidate = 0; candidate < measured.length; candidate++) {
      DeviceInfo info = candidates.get(candidate).info();
      OptionalDouble time =
          signature.isEmpty()
              ? OptionalDouble.empty()
              : partitioner.measurements().nanos(info, signature.get());
      measured[candidate][operation] = time.orElse(Double.NaN);
      // The reference is the last candidate, so that its own time outweighs what others imply.
      if (time.isPresent()) {
        known = time.getAsDouble() / ratio(times, candidate, operation);
      }
    }
    reference[operation] =
        Double.isNaN(known) ? estimate(graph(), graph().operations().get(operation)) : known;
  }

  private double estimate(Subgraph where, Operation operation) {
    if (ControlFlow.isControlFlow(operation.type())) {
      double sum = REFERENCE_NANOS_PER_OPERATION;
      for (int index : ControlFlow.references(where, operation)) {
        Subgraph inner = model.referenced().get(index);
        for (Operation each : inner.operations()) {
          sum += estimate(inner, each);
        }
      }
      return sum;
    }
    return REFERENCE_NANOS_PER_OPERATION
        + REFERENCE_NANOS_PER_MAC * OperationCatalog.standard().macs(where, operation).orElse(0)
        + REFERENCE_NANOS_PER_BYTE
            * (bytes(where, operation.inputs()) + bytes(where, operation.outputs()));
  }

  private static long bytes(Subgraph where, List<Integer> operands) {
    long bytes = 0;
    for (int index : operands) {
      Operand operand = where.operands().get(index);
      bytes += operand.isSizeKnown() ? operand.byteSize() : 0;
    }
    return bytes;
  }

  private double ratio(DeclaredCosts declared, int candidate, int operation) {
    return Math.min(
        declared.of(candidates.get(candidate).info(), graph(), operation), LARGEST_RATIO);
  }

  @Override
  public double expectedNanos(int candidate, int operation) {
    return isMeasured(candidate, operation)
        ? measured[candidate][operation]
        : reference[operation] * ratio(times, candidate, operation);
  }

  @Override
  public boolean isMeasured(int candidate, int operation) {
    expect();
    return !Double.isNaN(measured[candidate][operation]);
  }

  @Override
  public double expectedEnergy(int candidate, int operation) {
    return referenceEnergy(operation) * ratio(powers, candidate, operation);
  }

  @Override
  public double startNanos(int candidate) {
    return partitioner.measurements().startNanos(candidates.get(candidate).info());
  }

  @Override
  public double transferNanos(int candidate, long bytes) {
    return bytes * partitioner.measurements().byteNanos(candidates.get(candidate).info());
  }

  @Override
  public double referenceEnergy() {
    double sum = 0;
    for (int operation = 0; operation < levels.length; operation++) {
      sum += referenceEnergy(operation);
    }
    return sum;
  }

  /** The energy that the reference alone would need for one operation. */
  double referenceEnergy(int operation) {
    expect();
    return reference[operation];
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
          + level(operation);
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
