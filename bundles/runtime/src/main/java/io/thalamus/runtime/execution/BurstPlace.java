// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.memory.Leases;
import io.thalamus.memory.SharedMemory;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.PreparedStep;
import io.thalamus.runtime.registry.DeviceBurst;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One of the executions that a burst takes at once. It keeps what one of them needs for the next:
 * memories for copies, and arguments that were checked, their places, and the requests of steps,
 * which are the same again if the arguments are. From the second execution with the same arguments
 * on it also holds their memories and the plan, so that the next one need not claim them, until one
 * of the memories is closed or the plan is exchanged. Used by the execution that has taken it; the
 * counts may be read by all.
 */
final class BurstPlace implements SharedMemory.CloseListener {
  private final BurstImpl burst;
  private final Claim claim = new Claim(this::empty, this::end);
  private final Scratch scratch = new Scratch();

  // Written by the execution that has the place.
  private final AtomicLong executions = new AtomicLong();
  private final AtomicLong sent = new AtomicLong();

  private final Binding binding = new Binding();

  /** The leases of the bound memories; null unless these and the plan are held. */
  private Leases held;

  /** The steps that were executed last, by index of the step. */
  private Sent[] steps = {};

  /** A step with its burst on the planned device. */
  private record Sent(PreparedStep step, DeviceBurst device) {}

  BurstPlace(BurstImpl burst) {
    this.burst = burst;
  }

  /** Takes the place unless another execution has it, or it is closed. */
  boolean take() {
    return claim.take();
  }

  /** Ends the execution that has the place. */
  void exit() {
    executions.setOpaque(executions.getPlain() + 1);
    if (binding.isStale() && held != null) {
      empty();
    }
    claim.exit();
  }

  /** Lets go of what is held for the next execution, now or when the one under way ends. */
  void letGo() {
    claim.empty();
  }

  /** Gives everything back, now or when the execution under way ends. */
  void close() {
    claim.close();
  }

  private void end() {
    steps = new Sent[0];
    binding.clearAll();
    scratch.close();
    burst.ended();
  }

  /** Lets go of a memory that its owner closes. */
  @Override
  public void closed(SharedMemory memory) {
    claim.empty();
  }

  private void empty() {
    if (held != null) {
      binding.arguments().memories().forEach(memory -> memory.removeCloseListener(this));
      held.close();
      held = null;
      binding.plan().release();
    }
    binding.clear();
  }

  BurstImpl burst() {
    return burst;
  }

  Scratch scratch() {
    return scratch;
  }

  /** Returns what the last execution has left to this one. */
  Binding binding() {
    return binding;
  }

  /** Counts a request that was sent. */
  void sent() {
    sent.setOpaque(sent.getPlain() + 1);
  }

  long executionCount() {
    return executions.getOpaque();
  }

  long sentCount() {
    return sent.getOpaque();
  }

  /** Returns the arguments of the last execution if these are the same; they are checked. */
  Arguments arguments(Argument[] given) {
    Arguments last = binding.arguments(given);
    if (last == null) {
      empty();
    }
    return last;
  }

  /** Returns the plan of the moment: the held one, or acquired; null if there is none any more. */
  PreparedPlan acquirePlan(ExecutionHost host) {
    if (held != null && !host.isCurrent(binding.plan())) {
      empty();
    }
    return held != null ? binding.plan() : host.acquirePlan().orElse(null);
  }

  /** Returns whether this plan and the memories of the arguments are held. */
  boolean holds(PreparedPlan used) {
    return held != null && binding.plan() == used;
  }

  /**
   * Takes over the use of the bound plan from the execution, unless one of the memories is closed;
   * does nothing where it is held.
   */
  void hold() {
    if (held != null) {
      return;
    }
    Arguments arguments = binding.arguments();
    Leases leases = new Leases();
    boolean areOpen = true;
    try {
      arguments.lend(leases);
      for (SharedMemory memory : arguments.memories()) {
        areOpen &= memory.addCloseListener(this);
      }
    } catch (NeuralNetworksException e) {
      areOpen = false;
    }
    if (areOpen) {
      held = leases;
    } else {
      // The next execution finds that out by itself.
      leases.close();
      arguments.memories().forEach(memory -> memory.removeCloseListener(this));
    }
  }

  /** Returns the burst on the planned device of a step; null if its plan is not one of these. */
  DeviceBurst on(PreparedStep step) {
    int index = step.step().index();
    if (index >= steps.length) {
      steps = Arrays.copyOf(steps, index + 1);
    }
    if (steps[index] == null || steps[index].step != step) {
      steps[index] = new Sent(step, step.burst(burst));
    }
    return steps[index].device;
  }
}
