// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.model.Model;
import io.thalamus.runtime.plan.PreparedPlan;
import java.util.Optional;

/** A compilation that uses a memory. Thread-safe. */
public interface RoleHost {
  Model model();

  /** Returns the current plan, retained for the caller; empty if the compilation is closed. */
  Optional<PreparedPlan> acquirePlan();

  /** Returns whether the application named the devices to use. */
  boolean isForNamedDevices();
}
