// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.api.CacheOutcome;
import io.thalamus.memory.ReferenceCount;
import java.util.List;
import java.util.function.Consumer;

/**
 * A plan whose steps are prepared. Thread-safe. Counts those who use it: its maker is the first,
 * and when the last one releases it, the prepared models are closed. So a compilation can put
 * another plan in its place at any time, and executions in flight finish on this one.
 */
public final class PreparedPlan {
  private final PlannedModel planned;
  private final List<PreparedStep> steps;
  private final TemporariesLayout layout;
  private final Consumer<PreparedPlan> onEnd;
  private final ReferenceCount users = new ReferenceCount(this::end);

  /**
   * A plan with its steps by their index, which it owns.
   *
   * @param onEnd called once nobody uses it any more, before the steps are closed
   */
  public PreparedPlan(
      PlannedModel planned, List<PreparedStep> steps, Consumer<PreparedPlan> onEnd) {
    this.planned = planned;
    this.steps = List.copyOf(steps);
    this.onEnd = onEnd;
    this.layout = new TemporariesLayout(planned);
    // The maker's use is one like any other: nobody but the uses themselves ends a plan.
    users.retain();
    users.close();
  }

  public PlannedModel planned() {
    return planned;
  }

  /** The step with this index. */
  public PreparedStep step(int index) {
    return steps.get(index);
  }

  /** Returns the outcome of caching for each step. */
  public List<CacheOutcome> caching() {
    return steps.stream()
        .map(
            step ->
                new CacheOutcome(
                    step.step().device().id(), step.step().operations().size(), step.origin()))
        .toList();
  }

  public TemporariesLayout layout() {
    return layout;
  }

  /** Returns whether a device of it may be abandoned while it still works. */
  public boolean isGuarded() {
    // Asked at every execution: nothing is allocated.
    for (int i = 0; i < planned.steps().size(); i++) {
      if (planned.steps().get(i).device().isGuarded()) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether a device of it takes arguments by pointer. */
  public boolean takesPointers() {
    for (int i = 0; i < planned.steps().size(); i++) {
      if (planned.steps().get(i).device().takesPointers()) {
        return true;
      }
    }
    return false;
  }

  /** Begins a use unless the steps are closed already. */
  public boolean retain() {
    return users.retainUnlessFreed();
  }

  /** Ends a use. */
  public void release() {
    users.release();
  }

  private void end() {
    try {
      onEnd.accept(this);
    } finally {
      steps.forEach(PreparedStep::close);
    }
  }
}
