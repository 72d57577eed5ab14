// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
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

  // Of the last execution; null if the next one can use none of it.
  private PreparedPlan plan;
  private Arguments arguments;
  private Frame frame;

  /** The leases of the memories of {@link #arguments}; null unless these and the plan are held. */
  private Leases held;

  /** The places of the steps that were executed last, by index of the step. */
  private Bound[] bounds = {};

  /** A step with its burst on the planned device, and with the last request. */
  private static final class Bound {
    private final PreparedStep step;
    private final DeviceBurst device;

    /** Null if the next execution needs another one. */
    private Request request;

    /** The frame that it was made from; null if the places in that are others now. */
    private Frame frame;

    Bound(PreparedStep step, DeviceBurst device) {
      this.step = step;
      this.device = device;
    }
  }

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
    if (frame == null && held != null) {
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
    bounds = new Bound[0];
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
      arguments.memories().forEach(memory -> memory.removeCloseListener(this));
      held.close();
      held = null;
      plan.release();
    }
    plan = null;
    arguments = null;
    frame = null;
  }

  BurstImpl burst() {
    return burst;
  }

  Scratch scratch() {
    return scratch;
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
    if (arguments == null || arguments.isSame(given)) {
      return arguments;
    }
    empty();
    return null;
  }

  /** Returns the plan of the moment: the held one, or acquired; null if there is none any more. */
  PreparedPlan acquirePlan(ExecutionHost host) {
    if (held != null && !host.isCurrent(plan)) {
      empty();
    }
    return held != null ? plan : host.acquirePlan().orElse(null);
  }

  /** Returns whether this plan and the memories of the arguments are held. */
  boolean holds(PreparedPlan used) {
    return held != null && plan == used;
  }

  /** Returns the frame of the last execution if it had this plan and these arguments; or null. */
  Frame takeFrame(PreparedPlan wanted, Arguments given) {
    Frame last = plan == wanted && arguments == given ? frame : null;
    frame = null;
    return last;
  }

  /**
   * Keeps what the next execution may use.
   *
   * @param isAgain whether this one has used it too
   */
  void keep(PreparedPlan usedPlan, Arguments used, Frame usedFrame, boolean isAgain) {
    plan = usedPlan;
    arguments = used;
    frame = usedFrame;
    if (isAgain && held == null) {
      hold();
    }
  }

  /** Takes over the use of the plan from the execution, unless one of the memories is closed. */
  private void hold() {
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

  private Bound bound(PreparedStep step) {
    int index = step.step().index();
    if (index >= bounds.length) {
      bounds = Arrays.copyOf(bounds, index + 1);
    }
    if (bounds[index] == null || bounds[index].step != step) {
      bounds[index] = new Bound(step, step.burst(burst));
    }
    return bounds[index];
  }

  /** Returns the burst on the planned device of a step; null if its plan is not one of these. */
  DeviceBurst on(PreparedStep step) {
    return bound(step).device;
  }

  /** Returns the request of a step: the last one again if it would be the same. */
  Request request(PreparedStep step, Frame frame) throws NeuralNetworksException {
    Bound bound = bound(step);
    Request last = bound.request;
    if (last != null && (bound.frame == frame || RequestBuilder.isSame(last, step.step(), frame))) {
      return last;
    }
    Request request = RequestBuilder.of(step.step(), frame, true, false);
    bound.request = namesBuffer(request) ? null : request;
    bound.frame = frame;
    return request;
  }

  /** Learns that the memories for copies are others now. */
  void renewed() {
    for (Bound bound : bounds) {
      if (bound != null) {
        bound.frame = null;
      }
    }
  }

  /** Returns whether a request names what a device owns, which is not kept. */
  private static boolean namesBuffer(Request request) {
    for (MemoryPool pool : request.pools()) {
      if (pool instanceof MemoryPool.Device) {
        return true;
      }
    }
    return false;
  }
}
