// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

/**
 * The switch by which a lost device goes and comes back. Called by the injector's own thread, one
 * call after the other.
 */
public interface ServiceSwitch {
  /** A device that is not offered as a service: it only refuses calls while it is lost. */
  ServiceSwitch NONE =
      new ServiceSwitch() {
        @Override
        public void leave() {
          // There is no service.
        }

        @Override
        public void comeBack() {
          // There is no service.
        }
      };

  /** Withdraws the device's service. */
  void leave();

  /** Offers it again. */
  void comeBack();
}
