// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.api.StepCaching;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
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
  private final AtomicInteger users = new AtomicInteger(1);

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
  }

  public PlannedModel planned() {
    return planned;
  }

  /** The step with this index. */
  public PreparedStep step(int index) {
    return steps.get(index);
  }

  /** What the cache did for each step. */
  public List<StepCaching> caching() {
    return steps.stream()
        .map(
            step ->
                new StepCaching(
                    step.step().device().id(), step.step().operations().size(), step.origin()))
        .toList();
  }

  public TemporariesLayout layout() {
    return layout;
  }

  /** Whether a device of it may be given up while it still works. */
  public boolean isGuarded() {
    return planned.steps().stream().anyMatch(step -> step.device().isGuarded());
  }

  /** Begins a use, unless the plan is closed already. */
  public boolean retain() {
    int users;
    do {
      users = this.users.get();
      if (users == 0) {
        return false;
      }
    } while (!this.users.compareAndSet(users, users + 1));
    return true;
  }

  /** Ends a use. */
  public void release() {
    if (users.decrementAndGet() == 0) {
      try {
        onEnd.accept(this);
      } finally {
        steps.forEach(PreparedStep::close);
      }
    }
  }
}
