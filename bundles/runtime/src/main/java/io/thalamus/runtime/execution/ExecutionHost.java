// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.model.Priority;
import io.thalamus.runtime.call.Timekeeper;
import io.thalamus.runtime.domain.RoleHost;
import io.thalamus.runtime.events.CompilationLabel;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.schedule.Application;

/** The side of a compilation that its executions use. Thread-safe. */
public interface ExecutionHost extends RoleHost {
  /** Returns the words by which events name the compilation. */
  CompilationLabel label();

  /** Returns the application that the compilation is of. */
  Application application();

  /** Returns the priority of the compilation among those of its application. */
  Priority priority();

  /** Returns whether {@link #acquirePlan} would return this plan. */
  boolean isCurrent(PreparedPlan plan);

  /** Returns whether exactly one device was named. */
  boolean isForOneDevice();

  /** Returns whether a step that fails may be repeated elsewhere. */
  boolean isFallbackAllowed();

  /**
   * Prepares a step on another device than its own, within the deadline and under the control of
   * the execution that needs it.
   *
   * @throws NeuralNetworksException when no other device takes it in time
   */
  DevicePreparedModel prepareElsewhere(ExecutionStep step, ExecutionConfig config)
      throws NeuralNetworksException;

  /**
   * Returns whether the answers of the execution that begins now are compared with the reference.
   */
  boolean takeSample();

  /**
   * Prepares a step on the reference for a second opinion, be the reference among the devices to
   * use or not, within the deadline and under the control of the execution that needs it.
   *
   * @throws NeuralNetworksException when the reference does not take it in time
   */
  DevicePreparedModel prepareOnReference(ExecutionStep step, ExecutionConfig config)
      throws NeuralNetworksException;

  /**
   * Returns the whole model on the reference, retained for the caller, prepared within the deadline
   * and under the control of the execution that needs it.
   *
   * @throws NeuralNetworksException when the reference is not allowed, not here or cannot
   */
  PreparedPlan acquireWholeOnReference(ExecutionConfig config) throws NeuralNetworksException;

  /** Learns that a step is repeated elsewhere, and why. */
  void onFallback(ExecutionStep step, String reason);

  /** Excludes the device of a step from later plans: it can never execute it. */
  void excludeDevice(ExecutionStep step);

  ScratchPool scratch();

  /** Returns the clock that deadlines and timeouts are measured by. */
  Timekeeper time();

  /** Returns the threads of asynchronous executions. */
  AsyncThreads asyncThreads();
}
