// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.Plan.Crossing;
import io.thalamus.api.Prediction.Estimate;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.measurement.OperationSignature;
import io.thalamus.runtime.measurement.StepObservation;
import io.thalamus.runtime.measurement.StepObservation.Part;
import io.thalamus.runtime.measurement.StepTimes;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PreparedPlan;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;

/** Observations of the steps of a plan, from its executions. Stateless. */
final class Observations {
  private Observations() {}

  /**
   * Returns the observations of the steps that were timed and whose operations have signatures.
   *
   * @param time what counts of the times of a step
   */
  static List<StepObservation> of(PreparedPlan plan, Function<StepTimes, OptionalDouble> time) {
    List<StepObservation> observations = new ArrayList<>();
    Map<List<Integer>, Double> expected = null;
    for (ExecutionStep step : plan.planned().steps()) {
      OptionalDouble nanos = time.apply(plan.step(step.index()).times());
      if (nanos.isEmpty()) {
        continue;
      }
      if (expected == null) {
        expected = expected(plan);
      }
      observation(plan, step, nanos.getAsDouble(), expected).ifPresent(observations::add);
    }
    return observations;
  }

  /** Returns the expected time of each operation on the device that the plan gives it. */
  private static Map<List<Integer>, Double> expected(PreparedPlan plan) {
    var operations = plan.planned().description().operations();
    var predicted = plan.planned().description().prediction().operations();
    Map<List<Integer>, Double> expected = new HashMap<>();
    for (int i = 0; i < operations.size(); i++) {
      Estimate estimate = predicted.get(i).get(operations.get(i).device());
      if (estimate != null) {
        expected.put(
            List.of(operations.get(i).subgraph(), operations.get(i).index()), estimate.nanos());
      }
    }
    return expected;
  }

  private static Optional<StepObservation> observation(
      PreparedPlan plan, ExecutionStep step, double nanos, Map<List<Integer>, Double> expected) {
    Subgraph graph =
        step.subgraph() == 0
            ? plan.planned().model().main()
            : plan.planned().model().referenced().get(step.subgraph() - 1);
    List<Part> parts = new ArrayList<>();
    for (int operation : step.operations()) {
      Optional<String> signature =
          OperationSignature.of(plan.planned().model(), graph, graph.operations().get(operation));
      Double before = expected.get(List.of(step.subgraph(), operation));
      if (signature.isEmpty() || before == null) {
        return Optional.empty();
      }
      parts.add(new Part(signature.get(), before));
    }
    long bytes = 0;
    for (var described : plan.planned().description().steps()) {
      if (described.subgraph() == step.subgraph()
          && described.operations().equals(step.operations())) {
        bytes += described.inputs().stream().mapToLong(Crossing::bytes).sum();
        bytes += described.outputs().stream().mapToLong(Crossing::bytes).sum();
        break;
      }
    }
    return Optional.of(new StepObservation(step.device().info(), parts, bytes, nanos));
  }
}
