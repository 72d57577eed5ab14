// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.PreparedStep;
import io.thalamus.runtime.registry.DeviceBurst;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One of the executions that a burst takes at once. It keeps what one of them needs for the next:
 * memories for copies, and arguments that were checked, their places, and the requests of steps,
 * which are the same again if the arguments are. Used by the execution that has taken it; the
 * counts may be read by all.
 */
final class BurstPlace {
  private final BurstImpl burst;
  private final AtomicBoolean isTaken = new AtomicBoolean();
  private final Scratch scratch = new Scratch();

  // Written by the execution that has the place.
  private final AtomicLong executions = new AtomicLong();
  private final AtomicLong sent = new AtomicLong();

  // Of the last execution; null if the next one can use none of it.
  private PreparedPlan plan;
  private Arguments arguments;
  private Frame frame;

  /** The places of the steps that were executed last, by index of the step. */
  private Bound[] bounds = {};

  /** A step with its burst on the planned device, and with the last request. */
  private static final class Bound {
    private final PreparedStep step;
    private final DeviceBurst device;

    /** Null if the next execution needs another one. */
    private Request request;

    Bound(PreparedStep step, DeviceBurst device) {
      this.step = step;
      this.device = device;
    }
  }

  BurstPlace(BurstImpl burst) {
    this.burst = burst;
  }

  /** Takes the place unless another execution has it. */
  boolean take() {
    return !isTaken.getPlain() && isTaken.compareAndSet(false, true);
  }

  /** Ends the execution that has the place. */
  void exit() {
    executions.setOpaque(executions.getPlain() + 1);
    isTaken.setRelease(false);
    burst.exit();
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
    return arguments != null && arguments.isSame(given) ? arguments : null;
  }

  /** Returns the frame of the last execution if it had this plan and these arguments; or null. */
  Frame takeFrame(PreparedPlan wanted, Arguments given) {
    Frame last = plan == wanted && arguments == given ? frame : null;
    keep(null, null, null);
    return last;
  }

  /** Keeps what the next execution may use. */
  void keep(PreparedPlan usedPlan, Arguments used, Frame usedFrame) {
    plan = usedPlan;
    arguments = used;
    frame = usedFrame;
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
    if (last != null && RequestBuilder.isSame(last, step.step(), frame)) {
      return last;
    }
    Request request = RequestBuilder.of(step.step(), frame, true, false);
    bound.request = namesBuffer(request) ? null : request;
    return request;
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

  /** Gives everything back. The burst is closed, and nothing is executed any more. */
  void close() {
    bounds = new Bound[0];
    keep(null, null, null);
    scratch.close();
  }
}
