// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.api.DeviceHealth;
import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.model.ErrorStatus;
import java.util.List;
import java.util.Optional;

/**
 * The judge of one device: learns what it does wrong, and suspends and resumes it. Thread-safe.
 * Implemented above the registry, which only reports.
 */
public interface DeviceMonitor {
  /** Makes the monitors. Thread-safe; a service. */
  @FunctionalInterface
  interface Factory {
    /** Returns a monitor of a device that has just arrived. */
    DeviceMonitor watch(RegisteredDevice device);
  }

  /** Learns of a failed call; {@code what} says it in words. */
  default void failed(ErrorStatus status, String what) {}

  /** Learns of a call that did not return within its limit. */
  default void hung(String call) {}

  /** Learns that the reference gave the same answer to a step. */
  default void agreed() {}

  /**
   * Learns that the reference gave another answer to a step.
   *
   * @param again what the device has to pass before it serves again; owned by the monitor
   */
  default void disagreed(String difference, Optional<? extends Probe> again) {
    again.ifPresent(Probe::close);
  }

  /**
   * Returns how the device has behaved.
   *
   * @param stuck the calls that it does not return from
   */
  default DeviceHealth health(List<StuckCall> stuck) {
    return DeviceHealth.GOOD;
  }

  /** Keeps nothing any longer: the device has left, or the runtime stops. */
  default void close() {}
}
