// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.api.Plan;
import io.thalamus.api.Plan.Crossing;
import io.thalamus.api.Plan.PlannedOperation;
import io.thalamus.api.Prediction;
import io.thalamus.api.Prediction.Estimate;
import io.thalamus.api.Prediction.StepEstimate;
import io.thalamus.runtime.plan.PlannedModel;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/** The sum of what a plan is expected to take. Not thread-safe; used for one plan. */
final class CostEstimator {
  /** Sums of floats differ a little by their order. */
  private static final double SLACK = 1.0001;

  private final List<RegisteredDevice> devices;
  private final OptionalDouble powerBudget;
  private final Map<Integer, GraphProblem> problems = new HashMap<>();

  CostEstimator(List<RegisteredDevice> devices, OptionalDouble powerBudget) {
    this.devices = devices;
    this.powerBudget = powerBudget;
  }

  /** A graph that the plan has steps of. */
  void add(GraphProblem problem) {
    problems.putIfAbsent(problem.subgraph(), problem);
  }

  PlannedModel predict(PlannedModel planned) {
    Plan plan = planned.description();
    double energy = 0;
    double reference = 0;
    List<Map<String, Estimate>> operations = new ArrayList<>();
    for (PlannedOperation operation : plan.operations()) {
      GraphProblem problem = problems.get(operation.subgraph());
      operations.add(estimates(problem, operation.index()));
      int candidate = candidate(operation.device());
      if (candidate >= 0) {
        energy += problem.expectedEnergy(candidate, operation.index());
        reference += problem.referenceEnergy(operation.index());
      }
    }
    List<StepEstimate> steps = new ArrayList<>();
    for (Plan.Step step : plan.steps()) {
      StepEstimate estimate = estimate(step);
      steps.add(estimate);
      energy += estimate.boundaryNanos();
    }
    List<String> remarks = new ArrayList<>();
    double share = reference > 0 ? energy / reference : 1;
    if (powerBudget.isPresent() && share > powerBudget.getAsDouble() * SLACK) {
      remarks.add(
          String.format(
              Locale.ROOT,
              "the power budget of %.3g is exceeded: this plan needs %.3g of the energy of the cpu"
                  + " alone",
              powerBudget.getAsDouble(),
              share));
    }
    Prediction prediction = new Prediction(operations, steps, OptionalDouble.of(share), remarks);
    return planned.with(plan.with(prediction));
  }

  private Map<String, Estimate> estimates(GraphProblem problem, int operation) {
    Map<String, Estimate> estimates = new HashMap<>();
    for (int candidate = 0; candidate < devices.size(); candidate++) {
      if (problem.supports(candidate, operation)) {
        estimates.put(
            devices.get(candidate).id(),
            new Estimate(
                problem.expectedNanos(candidate, operation),
                problem.isMeasured(candidate, operation)));
      }
    }
    return estimates;
  }

  private StepEstimate estimate(Plan.Step step) {
    GraphProblem problem = problems.get(step.subgraph());
    int candidate = candidate(step.device());
    if (candidate < 0) {
      // The interpreter: it moves no bytes, and decides in no time.
      return new StepEstimate(0, 0, 0, true);
    }
    double sum = 0;
    boolean isMeasured = true;
    for (int operation : step.operations()) {
      sum += problem.expectedNanos(candidate, operation);
      isMeasured &= problem.isMeasured(candidate, operation);
    }
    double boundary = 0;
    for (Crossing crossing : step.inputs()) {
      boundary += problem.transferNanos(candidate, crossing.bytes());
    }
    for (Crossing crossing : step.outputs()) {
      boundary += problem.transferNanos(candidate, crossing.bytes());
    }
    return new StepEstimate(problem.startNanos(candidate), boundary, sum, isMeasured);
  }

  private int candidate(String id) {
    for (int i = 0; i < devices.size(); i++) {
      if (devices.get(i).id().equals(id)) {
        return i;
      }
    }
    return -1;
  }
}
