// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.ErrorStatus;

/** A model or an operation breaks a rule of NNAPI. The message names the place and the rule. */
public final class ValidationException extends Exception {
  private static final long serialVersionUID = 1L;

  public ValidationException(String message) {
    super(message);
  }

  /** Always {@link ErrorStatus#INVALID_ARGUMENT}. */
  public ErrorStatus status() {
    return ErrorStatus.INVALID_ARGUMENT;
  }

  /** The same with the place in front. */
  ValidationException at(String place) {
    ValidationException located = new ValidationException(place + ": " + getMessage());
    located.setStackTrace(getStackTrace());
    for (Throwable cause : getSuppressed()) {
      located.addSuppressed(cause);
    }
    return located;
  }
}
