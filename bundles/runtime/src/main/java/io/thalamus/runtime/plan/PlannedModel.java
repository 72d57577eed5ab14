// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.api.Plan;
import io.thalamus.model.Model;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.List;

/**
 * A model cut into steps. Immutable.
 *
 * @param model what was cut
 * @param main the main graph
 * @param steps all execution steps, by their index
 * @param description the same for applications
 */
public record PlannedModel(
    Model model, PlannedGraph main, List<ExecutionStep> steps, Plan description) {
  public PlannedModel {
    steps = List.copyOf(steps);
  }

  /** Returns the same plan with another description. */
  public PlannedModel with(Plan value) {
    return new PlannedModel(model, main, steps, value);
  }

  /** Returns whether one device gets the whole model as it is: NNAPI's SIMPLE plan. */
  public boolean isSimple() {
    return steps.size() == 1 && steps.get(0).model() == model;
  }

  /** Returns whether every step's device takes work. */
  public boolean isServed() {
    return steps.stream().allMatch(step -> step.device().isServing());
  }

  /** Returns whether another plan of this model gives the same operations to the same devices. */
  public boolean isSameAs(PlannedModel other) {
    if (steps.size() != other.steps.size()) {
      return false;
    }
    for (int i = 0; i < steps.size(); i++) {
      ExecutionStep mine = steps.get(i);
      ExecutionStep theirs = other.steps.get(i);
      RegisteredDevice device = mine.device();
      if (device != theirs.device()
          || mine.subgraph() != theirs.subgraph()
          || !mine.operations().equals(theirs.operations())) {
        return false;
      }
    }
    return true;
  }
}
