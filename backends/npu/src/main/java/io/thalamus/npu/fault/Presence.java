// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.fault;

/**
 * How a lost device goes and comes back. Called by the injector's own thread, in turns. Neither
 * method waits for executions.
 */
public interface Presence {
  /** Withdraws the device's service. */
  void leave();

  /** Offers it again. */
  void comeBack();
}
