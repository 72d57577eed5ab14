// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;

/** An execution cannot go on. Never leaves this package. */
final class StoppedException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final ErrorStatus status;

  StoppedException(ErrorStatus status, String message, Throwable cause) {
    super(message, cause);
    this.status = status;
  }

  /** What the execution ends with. */
  Failed failed() {
    return new Failed(status, getMessage());
  }
}
