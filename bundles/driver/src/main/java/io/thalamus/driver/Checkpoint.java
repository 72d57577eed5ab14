// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;

/** What a device does between two operations, and inside long ones. */
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

  private static Failed missed() {
    return new Failed(
        ErrorStatus.MISSED_DEADLINE_TRANSIENT, "the deadline passed during the execution");
  }
}
