// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.runtime.domain.MemoryBinding;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.registry.DeviceMemory;
import java.util.ArrayList;
import java.util.List;

/**
 * The memories made for arguments that one step reads and writes. Used by the one thread that
 * executes.
 *
 * @param buffers that stay with the device until it returns
 */
record StepMemories(
    List<MemoryBinding> inputs, List<MemoryBinding> outputs, List<DeviceMemory> buffers) {
  private static final StepMemories NONE = new StepMemories(List.of(), List.of(), List.of());

  /** Those of a step; nothing is allocated where there are none. */
  static StepMemories of(ExecutionStep step, Frame frame) {
    List<MemoryBinding> inputs = uses(step.inputs(), frame);
    List<MemoryBinding> outputs = uses(step.outputs(), frame);
    if (inputs.isEmpty() && outputs.isEmpty()) {
      return NONE;
    }
    List<DeviceMemory> buffers = new ArrayList<>();
    inputs.forEach(use -> use.buffer().ifPresent(buffers::add));
    outputs.forEach(use -> use.buffer().ifPresent(buffers::add));
    return new StepMemories(inputs, outputs, buffers);
  }

  private static List<MemoryBinding> uses(List<Integer> operands, Frame frame) {
    List<MemoryBinding> uses = List.of();
    for (int i = 0; i < operands.size(); i++) {
      MemoryBinding use = frame.use(operands.get(i));
      if (use != null) {
        uses = uses.isEmpty() ? new ArrayList<>() : uses;
        uses.add(use);
      }
    }
    return uses;
  }

  /** The step begins: its device does not leave before {@link #end}. */
  void begin() {
    for (int i = 0; i < outputs.size(); i++) {
      outputs.get(i).beginStep();
    }
  }

  /** Ends the step: its outputs are booked. */
  void end() {
    for (int i = 0; i < outputs.size(); i++) {
      outputs.get(i).endStep();
    }
  }

  /** The device was given up, and may still write to the outputs. */
  void abandon() throws NeuralNetworksException {
    for (int i = 0; i < outputs.size(); i++) {
      outputs.get(i).abandon();
    }
  }

  /** Returns whether there is none. */
  boolean isEmpty() {
    return this == NONE;
  }

  /**
   * Returns whether everything can be seen in shared memory too, for a second opinion.
   *
   * @param room where the outputs had to go
   */
  boolean share(List<Value> room) {
    for (MemoryBinding use : inputs) {
      if (!use.share()) {
        return false;
      }
    }
    for (MemoryBinding use : outputs) {
      if (!use.share()) {
        return false;
      }
    }
    for (Value value : room) {
      // Nobody but the device knew how much it would be.
      if (value.length() == MemoryBinding.OPEN) {
        return false;
      }
    }
    return true;
  }
}
