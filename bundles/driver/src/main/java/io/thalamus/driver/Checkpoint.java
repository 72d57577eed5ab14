// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.ErrorStatus;

/** The pause of a device between two operations, and inside long ones. Stateless. */
public final class Checkpoint {
  private Checkpoint() {}

  /**
   * Pauses where more urgent work is to go first.
   *
   * @return null where the execution goes on, else what it ends with
   */
  public static Failed pass(ExecutionConfig config) {
    return config.deadline().hasPassed() ? missed() : end(config.control().checkpoint());
  }

  /**
   * Asks as {@link #pass(ExecutionConfig)} does, without a pause: for a thread that waits.
   *
   * @return null when the execution may go on; else why it must end
   */
  public static Failed look(ExecutionConfig config) {
    return config.deadline().hasPassed() ? missed() : end(config.control().status());
  }

  private static Failed end(Signal signal) {
    return switch (signal) {
      case CONTINUE -> null;
      case CANCELLED -> new Failed(ErrorStatus.GENERAL_FAILURE, "the execution was cancelled");
      case DEADLINE -> missed();
    };
  }

  /**
   * Pauses a compilation where more urgent work is to go first. Asked between operations, and
   * between candidates of a search.
   *
   * @throws DeviceException when the compilation must end: with MISSED_DEADLINE_TRANSIENT, or with
   *     GENERAL_FAILURE when it was cancelled
   */
  public static void pass(PrepareConfig config) throws DeviceException {
    Signal signal = config.deadline().hasPassed() ? Signal.DEADLINE : config.control().checkpoint();
    switch (signal) {
      case CONTINUE -> {
        // Nobody is in a hurry.
      }
      case CANCELLED -> throw DeviceException.failure("the compilation was cancelled");
      case DEADLINE ->
          throw new DeviceException(
              ErrorStatus.MISSED_DEADLINE_TRANSIENT, "the deadline passed during the compilation");
    }
  }

  /**
   * Returns the end of an execution on a device that has been stopped. It is unavailable rather
   * than at fault: its client may not have learnt yet that it goes.
   */
  public static Failed stopped() {
    return new Failed(ErrorStatus.DEVICE_UNAVAILABLE, "the device has been stopped");
  }

  private static Failed missed() {
    return new Failed(
        ErrorStatus.MISSED_DEADLINE_TRANSIENT, "the deadline passed during the execution");
  }
}
