// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

/**
 * A listener to devices that come and go. Called in the thread of the change, outside of any lock.
 */
public interface DeviceListener {
  /** Learns nothing. */
  DeviceListener NONE = new DeviceListener() {};

  /** A device serves from now on: it has come, or a probe let it out of quarantine. */
  default void arrived(RegisteredDevice device) {
    // Not of interest.
  }

  /**
   * A device takes no more work: it leaves, or goes into quarantine. Its running calls may not have
   * returned yet.
   */
  default void departing(RegisteredDevice device) {
    // Not of interest.
  }

  /** A device has left: its calls have returned, or nobody waits for them any more. */
  default void departed(RegisteredDevice device) {
    // Most have done what there is to do when it began to leave.
  }
}
