// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.api.CacheOutcome;
import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.runtime.measurement.Refusals;
import io.thalamus.runtime.measurement.StepTime;
import io.thalamus.runtime.registry.DeviceBurst;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;

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
  private final Refusals refusals = new Refusals();
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

  /** Opens the bursts of an owner on all steps. */
  public void openBursts(Object owner, Function<DevicePreparedModel, DeviceBurst> opening) {
    steps.forEach(step -> step.openBurst(owner, opening));
  }

  /** Returns how many requests the servers of an owner's bursts have read. */
  public long readByBursts(Object owner) {
    long read = 0;
    for (PreparedStep step : steps) {
      DeviceBurst burst = step.burst(owner);
      read += burst == null ? 0 : burst.read();
    }
    return read;
  }

  /** Closes the bursts of an owner, who uses them no more. */
  public void closeBursts(Object owner) {
    steps.forEach(step -> step.closeBurst(owner));
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

  /** Returns how many bytes the devices hold for it alone. */
  public long ownBytes() {
    return steps.stream().mapToLong(step -> step.primary().ownBytes()).sum();
  }

  /** Returns whether a step of it was restored that is worth compiling anew. */
  public boolean isStale() {
    return steps.stream().anyMatch(step -> step.origin() == Origin.STALE);
  }

  public TemporariesLayout layout() {
    return layout;
  }

  /** Returns whether a device of it may be abandoned while it still works. */
  public boolean isGuarded() {
    return any(RegisteredDevice::isGuarded);
  }

  /** Returns whether a device of it takes arguments by pointer. */
  public boolean takesPointers() {
    return any(RegisteredDevice::takesPointers);
  }

  private boolean any(Predicate<RegisteredDevice> condition) {
    // Asked at every execution: nothing is allocated.
    for (int i = 0; i < planned.steps().size(); i++) {
      if (condition.test(planned.steps().get(i).device())) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns a lower bound of the time that an execution takes, in nanoseconds: the sum of those of
   * the steps that it cannot do without. A step that was not measured counts 0, so that nothing is
   * refused for what nobody knows. Each refusal in a row makes the bound lower.
   */
  public double leastNanos() {
    return refusals.lowered(
        nanos(planned.main(), step -> step.times().known().map(StepTime::leastNanos).orElse(0.0)));
  }

  /**
   * Returns the time that an execution takes on idle devices, in nanoseconds, as far as it was
   * measured: the sum of the usual times of the steps that it cannot do without.
   */
  public double idleNanos() {
    return nanos(
        planned.main(), step -> step.times().known().map(StepTime::usualNanos).orElse(0.0));
  }

  private double nanos(PlannedGraph graph, ToDoubleFunction<PreparedStep> time) {
    double sum = 0;
    for (PlanNode node : graph.nodes()) {
      sum +=
          switch (node) {
            case PlanNode.ExecutionStep step -> time.applyAsDouble(steps.get(step.index()));
            case PlanNode.IfNode branch ->
                Math.min(nanos(branch.thenGraph(), time), nanos(branch.elseGraph(), time));
            // A loop asks its condition once at least.
            case PlanNode.WhileNode loop -> nanos(loop.condition(), time);
          };
    }
    return sum;
  }

  /** Learns that an execution was refused for the lower bound. */
  public void refused() {
    refusals.add();
  }

  /** Learns that an execution was done, and so measured. */
  public void executed() {
    refusals.end();
  }

  /** Returns whether nobody uses it any more. */
  public boolean isEnded() {
    return users.isClosed() && users.uses() == 0;
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
