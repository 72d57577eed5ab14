// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;

/**
 * The expected cost of a plan, before it runs. Immutable. Graphs of a loop count once, and both
 * branches of an IF do: how often each runs is not known.
 *
 * @param operations for each operation of the plan, what each device that supports it would take,
 *     by device id
 * @param steps for each step of the plan
 * @param energy by the power usage that devices declare, as a share of what the CPU device would
 *     need for all of the model; empty where that is not known
 * @param remarks what else a reader of the plan should know, one sentence each
 */
public record Prediction(
    List<Map<String, Estimate>> operations,
    List<StepEstimate> steps,
    OptionalDouble energy,
    List<String> remarks) {
  /** Nothing is known. */
  public static final Prediction NONE =
      new Prediction(List.of(), List.of(), OptionalDouble.empty(), List.of());

  public Prediction {
    operations = operations.stream().map(Map::copyOf).toList();
    steps = List.copyOf(steps);
    Objects.requireNonNull(energy, "energy");
    remarks = List.copyOf(remarks);
  }

  /** The time of all steps. */
  public double nanos() {
    return steps.stream().mapToDouble(StepEstimate::nanos).sum();
  }

  /** Returns true if every operation was measured where the plan has it. */
  public boolean isMeasured() {
    return !steps.isEmpty() && steps.stream().allMatch(StepEstimate::isMeasured);
  }

  /** The same with one more remark. */
  public Prediction withRemark(String remark) {
    List<String> more = new java.util.ArrayList<>(remarks);
    more.add(remark);
    return new Prediction(operations, steps, energy, more);
  }

  /**
   * The expected time of one operation.
   *
   * @param isMeasured whether that was measured here; else it follows from what devices declare and
   *     from the size of the operation
   */
  public record Estimate(double nanos, boolean isMeasured) {}

  /**
   * The expected time of one step.
   *
   * @param startNanos for calling the device
   * @param boundaryNanos for the bytes that come in and go out
   * @param operationNanos for the operations
   * @param isMeasured whether all of the operations were measured on the device
   */
  public record StepEstimate(
      double startNanos, double boundaryNanos, double operationNanos, boolean isMeasured) {
    /** All of it. */
    public double nanos() {
      return startNanos + boundaryNanos + operationNanos;
    }
  }
}
