// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;

/** An execution cannot go on. Passes through kernels, and never leaves the prepared model. */
final class StoppedException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final ErrorStatus status;

  StoppedException(ErrorStatus status, String message, Throwable cause) {
    super(message, cause);
    this.status = status;
  }

  StoppedException(Failed failed) {
    this(failed.status(), failed.message(), null);
  }

  /** Returns the result of the execution. */
  Failed failed() {
    return new Failed(status, getMessage());
  }
}
