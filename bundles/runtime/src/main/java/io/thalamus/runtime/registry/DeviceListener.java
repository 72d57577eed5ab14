// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

/**
 * A listener to devices that come and go. Called in the thread of the change, outside of any lock.
 */
public interface DeviceListener {
  /** A device serves from now on: it has come, or a probe let it out of quarantine. */
  default void arrived(RegisteredDevice device) {}

  /**
   * A device takes no more work: it leaves, or goes into quarantine. Its running calls may not have
   * returned yet.
   */
  default void departing(RegisteredDevice device) {}

  /** A device has left: its calls have returned, or nobody waits for them any more. */
  default void departed(RegisteredDevice device) {}
}
