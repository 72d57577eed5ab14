// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.OperationType;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The device of each operation, and the values that cross the boundaries. Immutable.
 *
 * @param policy the name of the policy that decided
 * @param operations all operations, in the order of the model
 * @param steps what is given to a device at once, in the order of execution
 * @param prediction what it is expected to take
 */
public record Plan(
    String policy, List<PlannedOperation> operations, List<Step> steps, Prediction prediction) {
  public Plan {
    Objects.requireNonNull(policy, "policy");
    Objects.requireNonNull(prediction, "prediction");
    operations = List.copyOf(operations);
    steps = List.copyOf(steps);
  }

  /** A plan of which nothing is predicted. */
  public Plan(String policy, List<PlannedOperation> operations, List<Step> steps) {
    this(policy, operations, steps, Prediction.NONE);
  }

  /** The same plan with another prediction. */
  public Plan with(Prediction value) {
    return new Plan(policy, operations, steps, value);
  }

  /**
   * The decision for one operation.
   *
   * @param subgraph 0 for the main graph, else 1 plus the index among the referenced ones
   * @param index of the operation in its graph
   * @param type what it computes
   * @param device id of the device chosen
   * @param costs the declared cost on each device that supports it, by device id
   */
  public record PlannedOperation(
      int subgraph, int index, OperationType type, String device, Map<String, Double> costs) {
    public PlannedOperation {
      Objects.requireNonNull(type, "type");
      Objects.requireNonNull(device, "device");
      costs = Map.copyOf(costs);
    }
  }

  /**
   * Operations that a device executes at once.
   *
   * @param device id of the device
   * @param subgraph the graph they belong to, numbered as in {@link PlannedOperation}
   * @param operations their indexes
   * @param inputs what comes in from callers and other steps, and is read
   * @param outputs what goes out to callers and other steps
   */
  public record Step(
      String device,
      int subgraph,
      List<Integer> operations,
      List<Crossing> inputs,
      List<Crossing> outputs) {
    public Step {
      Objects.requireNonNull(device, "device");
      operations = List.copyOf(operations);
      inputs = List.copyOf(inputs);
      outputs = List.copyOf(outputs);
    }
  }

  /**
   * A value that crosses the boundary of a step.
   *
   * @param operand its index in the graph
   * @param name for people
   * @param bytes its size, 0 where that is not known before the execution
   */
  public record Crossing(int operand, String name, long bytes) {
    public Crossing {
      Objects.requireNonNull(name, "name");
    }
  }
}
