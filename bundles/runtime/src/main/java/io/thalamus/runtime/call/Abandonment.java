// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.model.ErrorStatus;
import java.time.Duration;

/** The reason why nobody waits for a call any more. */
public enum Abandonment {
  /** The call reached its limit. */
  HUNG(ErrorStatus.DEVICE_UNAVAILABLE),
  /** The deadline of the caller passed, and the driver did not stop. */
  DEADLINE(ErrorStatus.MISSED_DEADLINE_TRANSIENT),
  /** The caller was cancelled, and the driver did not stop. */
  CANCELLED(ErrorStatus.GENERAL_FAILURE),
  /** The device left, or the runtime stopped. */
  LEFT(ErrorStatus.DEVICE_UNAVAILABLE),
  /** The burst by which it was sent broke. */
  LOST(ErrorStatus.DEVICE_UNAVAILABLE);

  private final ErrorStatus status;

  Abandonment(ErrorStatus status) {
    this.status = status;
  }

  ErrorStatus status() {
    return status;
  }

  String message(Duration limit) {
    return switch (this) {
      case HUNG -> "it did not answer within " + limit.toMillis() + " ms";
      case DEADLINE, CANCELLED -> "it did not stop when asked";
      case LEFT -> "it left before it was done";
      case LOST -> "its burst broke before it was done";
    };
  }
}
