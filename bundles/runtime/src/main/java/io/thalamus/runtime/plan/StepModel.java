// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.model.Model;
import java.util.List;

/**
 * The model that a device gets for a step, and where its inputs and outputs stand in the graph that
 * the step was cut from. Immutable.
 *
 * @param model what the device prepares
 * @param inputs for each input of the model, the operand of the graph
 * @param outputs for each output of the model, the operand of the graph
 */
public record StepModel(Model model, List<Integer> inputs, List<Integer> outputs) {
  public StepModel {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /** A whole model as one step: nothing is cut. */
  static StepModel whole(Model model) {
    return new StepModel(model, model.main().inputIndexes(), model.main().outputIndexes());
  }
}
