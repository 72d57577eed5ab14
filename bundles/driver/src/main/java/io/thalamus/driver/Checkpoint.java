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
    if (config.deadline().hasPassed()) {
      return missed();
    }
    return switch (config.control().checkpoint()) {
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

  private static Failed missed() {
    return new Failed(
        ErrorStatus.MISSED_DEADLINE_TRANSIENT, "the deadline passed during the execution");
  }
}
