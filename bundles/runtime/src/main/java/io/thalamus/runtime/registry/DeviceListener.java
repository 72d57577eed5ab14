// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

/** Learns which devices come and go. Called in the thread of the change, outside of any lock. */
public interface DeviceListener {
  /** A device serves from now on. */
  void arrived(RegisteredDevice device);

  /** A device takes no more work; its running calls may not have returned yet. */
  void departing(RegisteredDevice device);
}
