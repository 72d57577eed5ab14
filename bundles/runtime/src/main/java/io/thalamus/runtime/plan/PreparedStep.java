// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.runtime.measurement.StepTimes;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.registry.DevicePreparedModel;

/**
 * A step as its device prepared it, and as others do on demand. Thread-safe. Owns all of these
 * models until its plan closes it, when no execution uses it.
 */
public final class PreparedStep {
  private final ExecutionStep step;
  private final DevicePreparedModel primary;
  private final Origin origin;
  private final StepTimes times = new StepTimes();
  private final OnDemand<DevicePreparedModel> fallback = onDemand();
  private final OnDemand<DevicePreparedModel> reference = onDemand();

  /** Creates a step with the model that its device prepared, which it owns. */
  public PreparedStep(ExecutionStep step, DevicePreparedModel primary, Origin origin) {
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

  /**
   * Returns the step on another device, prepared at the first call.
   *
   * @param control of the execution that needs it
   * @throws NeuralNetworksException when no other device takes it, or the execution must stop
   */
  public DevicePreparedModel fallback(
      ExecutionControl control, OnDemand.Preparation<DevicePreparedModel> preparation)
      throws NeuralNetworksException {
    return fallback.get(control, preparation);
  }

  /**
   * Returns the step on the reference, prepared at the first call.
   *
   * @param control of the execution that needs it
   * @throws NeuralNetworksException when the reference does not take it, or the execution must stop
   */
  public DevicePreparedModel reference(
      ExecutionControl control, OnDemand.Preparation<DevicePreparedModel> preparation)
      throws NeuralNetworksException {
    return reference.get(control, preparation);
  }

  void close() {
    primary.close();
    fallback.close();
    reference.close();
  }
}
