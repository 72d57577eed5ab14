// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.model.Model;
import io.thalamus.runtime.plan.PreparedPlan;
import java.util.Optional;

/** What a memory needs of a compilation that it is used by. Thread-safe. */
public interface RoleHost {
  Model model();

  /** The plan of the moment, retained for the caller; empty where the compilation is closed. */
  Optional<PreparedPlan> acquirePlan();

  /** Whether the application named the devices to use. */
  boolean isForNamedDevices();
}
