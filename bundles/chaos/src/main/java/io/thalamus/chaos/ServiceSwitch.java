// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

/**
 * The switch by which a lost device goes and comes back. Called by the injector's own thread, one
 * call after the other.
 */
public interface ServiceSwitch {
  /** A device that is not offered as a service: it only refuses calls while it is lost. */
  ServiceSwitch NONE = new ServiceSwitch() {};

  /** Withdraws the device's service; does nothing where there is none. */
  default void leave() {}

  /** Offers it again. */
  default void comeBack() {}
}
