// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.runtime.measurement.Measurements;
import io.thalamus.runtime.measurement.OperationSignature;
import io.thalamus.runtime.policy.Candidate;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Expected times of the operations of one graph on each candidate. Not thread-safe.
 *
 * <p>A time that was measured on the device counts. Where there is none, the ratio that the device
 * declares is applied to what the reference needs; and where that was not measured either, nor on
 * any other candidate, it is estimated from multiply-accumulates and bytes.
 */
final class ExpectedCosts {
  /** The speed of the plain kernels of the reference: rough, but of the right order. */
  private static final double REFERENCE_NANOS_PER_MAC = 1.2;

  private static final double REFERENCE_NANOS_PER_BYTE = 0.8;
  private static final double REFERENCE_NANOS_PER_OPERATION = 1_500;

  /** A device that does not mention a type declares the largest number for it. */
  private static final double LARGEST_RATIO = 1e6;

  private final Model model;
  private final Subgraph graph;
  private final List<Candidate> candidates;
  private final Measurements measurements;
  private final DeclaredCosts times;
  private final DeclaredCosts powers;
  private final double[][] measured;
  private final double[] reference;

  ExpectedCosts(
      Model model, Subgraph graph, List<Candidate> candidates, Measurements measurements) {
    this.model = model;
    this.graph = graph;
    this.candidates = candidates;
    this.measurements = measurements;
    this.times = new DeclaredCosts(model, ExecutionPreference.FAST_SINGLE_ANSWER);
    this.powers = new DeclaredCosts(model, ExecutionPreference.LOW_POWER);
    int operations = graph.operations().size();
    this.measured = new double[candidates.size()][operations];
    this.reference = new double[operations];
    for (int operation = 0; operation < operations; operation++) {
      lookUp(operation);
    }
  }

  private void lookUp(int operation) {
    Optional<String> signature =
        OperationSignature.of(model, graph, graph.operations().get(operation));
    double known = Double.NaN;
    for (int candidate = 0; candidate < measured.length; candidate++) {
      DeviceInfo info = candidates.get(candidate).info();
      OptionalDouble time =
          signature.isEmpty() ? OptionalDouble.empty() : measurements.nanos(info, signature.get());
      measured[candidate][operation] = time.orElse(Double.NaN);
      // The reference is the last candidate, so that its own time outweighs what others imply.
      if (time.isPresent()) {
        known = time.getAsDouble() / ratio(times, candidate, operation);
      }
    }
    reference[operation] =
        Double.isNaN(known) ? estimate(graph, graph.operations().get(operation)) : known;
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

  private double ratio(DeclaredCosts costs, int candidate, int operation) {
    float declared = costs.of(candidates.get(candidate).info(), graph, operation);
    return Math.min(declared, LARGEST_RATIO);
  }

  boolean isMeasured(int candidate, int operation) {
    return !Double.isNaN(measured[candidate][operation]);
  }

  double nanos(int candidate, int operation) {
    return isMeasured(candidate, operation)
        ? measured[candidate][operation]
        : reference[operation] * ratio(times, candidate, operation);
  }

  /** Returns the time of the reference for an operation. */
  double reference(int operation) {
    return reference[operation];
  }

  float declaredPower(int candidate, int operation) {
    return powers.of(candidates.get(candidate).info(), graph, operation);
  }

  double energy(int candidate, int operation) {
    return reference[operation] * ratio(powers, candidate, operation);
  }

  double startNanos(int candidate) {
    return measurements.startNanos(candidates.get(candidate).info());
  }

  double transferNanos(int candidate, long bytes) {
    return bytes * measurements.byteNanos(candidates.get(candidate).info());
  }
}
