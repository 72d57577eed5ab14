// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.StepCaching.Origin;
import io.thalamus.runtime.measurement.StepTimes;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.registry.DevicePreparedModel;
import java.util.Optional;

/** A step as its device prepared it, and as another one did where it failed. Thread-safe. */
public final class PreparedStep {
  private final ExecutionStep step;
  private final DevicePreparedModel primary;
  private final Origin origin;
  private final StepTimes times = new StepTimes();
  private DevicePreparedModel fallback;
  private DevicePreparedModel reference;
  private boolean closed;

  /** A step with what its device prepared, which it owns. */
  public PreparedStep(ExecutionStep step, DevicePreparedModel primary, Origin origin) {
    this.step = step;
    this.primary = primary;
    this.origin = origin;
  }

  /** Prepares a step on another device than its own. */
  @FunctionalInterface
  public interface FallbackPreparer {
    /** The step prepared elsewhere. */
    DevicePreparedModel prepare(ExecutionStep step) throws NeuralNetworksException;
  }

  public ExecutionStep step() {
    return step;
  }

  /** Where it came from on the device that the plan chose. */
  public Origin origin() {
    return origin;
  }

  /** How long it took on the device that the plan chose. */
  public StepTimes times() {
    return times;
  }

  /** The step on the device that the plan chose. */
  public DevicePreparedModel primary() {
    return primary;
  }

  /**
   * The step on another device, prepared at the first call and kept.
   *
   * @throws NeuralNetworksException where no other device takes it
   */
  public synchronized DevicePreparedModel fallback(FallbackPreparer preparer)
      throws NeuralNetworksException {
    if (closed) {
      throw new IllegalStateException("the plan is closed");
    }
    if (fallback == null || !fallback.device().isServing()) {
      if (fallback != null) {
        fallback.close();
        fallback = null;
      }
      fallback = preparer.prepare(step);
    }
    return fallback;
  }

  /** Prepares a step on the reference. */
  @FunctionalInterface
  public interface ReferencePreparer {
    /** The step prepared there; empty where the reference does not take it. */
    Optional<DevicePreparedModel> prepare(ExecutionStep step);
  }

  /** The step on the reference, prepared at the first call and kept; empty where it cannot be. */
  public synchronized Optional<DevicePreparedModel> reference(ReferencePreparer preparer) {
    if (closed) {
      throw new IllegalStateException("the plan is closed");
    }
    if (reference != null && !reference.device().isServing()) {
      reference.close();
      reference = null;
    }
    if (reference == null) {
      reference = preparer.prepare(step).orElse(null);
    }
    return Optional.ofNullable(reference);
  }

  synchronized void close() {
    closed = true;
    primary.close();
    if (fallback != null) {
      fallback.close();
    }
    if (reference != null) {
      reference.close();
    }
  }
}
