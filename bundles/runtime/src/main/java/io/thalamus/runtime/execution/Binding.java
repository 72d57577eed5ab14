// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.PreparedStep;
import java.util.Arrays;

/**
 * Arguments that were checked and given their places for a plan, and the requests of its steps:
 * what one execution leaves to the next, which uses it if its arguments, its plan and its memories
 * for copies are the same. Used by one execution at a time; holds nothing open.
 */
final class Binding {
  private PreparedPlan plan;
  private Scratch scratch;
  private Arguments arguments;

  /** Null while it is used, or if the next execution can use none of it. */
  private Frame frame;

  /** The last requests, by index of the step. */
  private Bound[] requests = {};

  /**
   * A request that can be the same again.
   *
   * @param frame that it was made from
   * @param version of the memories for copies then
   */
  private record Bound(PreparedStep step, Request request, Frame frame, long version) {}

  /** Returns the plan of the last execution; null if there is none. */
  PreparedPlan plan() {
    return plan;
  }

  /** Returns the arguments of the last execution, which are checked; null if there are none. */
  Arguments arguments() {
    return arguments;
  }

  /** Returns the arguments of the last execution if these are the same; else null. */
  Arguments arguments(Argument[] given) {
    return arguments != null && arguments.isSame(given) ? arguments : null;
  }

  /** Returns whether the next execution can use none of it. */
  boolean isStale() {
    return frame == null;
  }

  /** Returns the last frame if it had this plan, these arguments and this memory; or null. */
  Frame take(PreparedPlan wanted, Arguments given, Scratch memory) {
    Frame last =
        plan == wanted && arguments == given && scratch == memory && arguments.areInReach()
            ? frame
            : null;
    frame = null;
    return last;
  }

  /** Keeps what the next execution may use. */
  void keep(PreparedPlan usedPlan, Arguments used, Scratch memory, Frame usedFrame) {
    plan = usedPlan;
    scratch = memory;
    arguments = used;
    frame = usedFrame;
  }

  /** Forgets all but the requests, which are compared with what the next execution needs. */
  void clear() {
    plan = null;
    scratch = null;
    arguments = null;
    frame = null;
  }

  /** Forgets all. */
  void clearAll() {
    clear();
    requests = new Bound[0];
  }

  /**
   * Returns the request of a step for its planned device: the last one again if it would be the
   * same.
   *
   * @param memory of the execution
   * @param passesPointers whether the device takes arguments by pointer
   * @throws NeuralNetworksException with BAD_DATA if the caller has closed the memory of one
   */
  Request request(PreparedStep step, Frame used, Scratch memory, boolean passesPointers)
      throws NeuralNetworksException {
    int index = step.step().index();
    if (index >= requests.length) {
      requests = Arrays.copyOf(requests, index + 1);
    }
    Bound last = requests[index];
    boolean isSame =
        last != null
            && last.step == step
            && (last.frame == used && last.version == memory.version()
                || RequestBuilder.isSame(last.request, step.step(), used));
    if (isSame) {
      return last.request;
    }
    Request request = RequestBuilder.of(step.step(), used, true, passesPointers);
    // What a device owns can be elsewhere the next time.
    requests[index] =
        namesBuffer(request) ? null : new Bound(step, request, used, memory.version());
    return request;
  }

  private static boolean namesBuffer(Request request) {
    for (MemoryPool pool : request.pools()) {
      if (pool instanceof MemoryPool.Device) {
        return true;
      }
    }
    return false;
  }
}
