// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.runtime.measurement.StepTimes;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.registry.DeviceBurst;
import io.thalamus.runtime.registry.DevicePreparedModel;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * A step as its device prepared it, and as others do on demand. Thread-safe. Owns all of these
 * models, and the bursts on the first of them, until its plan closes it, when no execution uses it.
 */
public final class PreparedStep {
  private final ExecutionStep step;
  private final DevicePreparedModel primary;
  private final Origin origin;
  private final StepTimes times;
  private final OnDemand<DevicePreparedModel> fallback = onDemand();
  private final OnDemand<DevicePreparedModel> reference = onDemand();

  /** The bursts on the primary model, by their owners. */
  private final Map<Object, DeviceBurst> bursts = new ConcurrentHashMap<>();

  /**
   * Creates a step with the model that its device prepared, which it owns.
   *
   * @param times of its executions on that device
   */
  public PreparedStep(
      ExecutionStep step, DevicePreparedModel primary, Origin origin, StepTimes times) {
    this.times = times;
    this.step = step;
    this.primary = primary;
    this.origin = origin;
  }

  private static OnDemand<DevicePreparedModel> onDemand() {
    return new OnDemand<>(
        model -> model.device().isServing(), model -> {}, DevicePreparedModel::close);
  }

  public ExecutionStep step() {
    return step;
  }

  /** Returns where the model of the planned device came from. */
  public Origin origin() {
    return origin;
  }

  /** Returns how long the step took on the planned device. */
  public StepTimes times() {
    return times;
  }

  /** Returns the step on the planned device. */
  public DevicePreparedModel primary() {
    return primary;
  }

  /** Returns the step on another device, as the first execution to need it prepares it. */
  public OnDemand<DevicePreparedModel> fallback() {
    return fallback;
  }

  /** Returns the step on the reference, as the first execution to need it prepares it. */
  public OnDemand<DevicePreparedModel> reference() {
    return reference;
  }

  /** Opens the burst of an owner on the planned device, unless it is open. */
  void openBurst(Object owner, Function<DevicePreparedModel, DeviceBurst> opening) {
    bursts.computeIfAbsent(owner, any -> opening.apply(primary));
  }

  /** Returns the burst of an owner on the planned device; null if none was opened. */
  public DeviceBurst burst(Object owner) {
    return bursts.get(owner);
  }

  /** Closes the burst of an owner, who uses it no more. */
  void closeBurst(Object owner) {
    DeviceBurst open = bursts.remove(owner);
    if (open != null) {
      open.close();
    }
  }

  void close() {
    bursts.keySet().forEach(this::closeBurst);
    primary.close();
    fallback.close();
    reference.close();
  }
}
