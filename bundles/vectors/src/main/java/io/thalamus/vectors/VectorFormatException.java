// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.model.ErrorStatus;

/**
 * A vector file is damaged, or holds what a model cannot express. The message names the place and
 * what is wrong there, in one line.
 */
public final class VectorFormatException extends Exception {
  private static final long serialVersionUID = 1L;

  public VectorFormatException(String message) {
    super(message);
  }

  public VectorFormatException(String message, Throwable cause) {
    super(message, cause);
  }

  /** Always {@link ErrorStatus#INVALID_ARGUMENT}. */
  public ErrorStatus status() {
    return ErrorStatus.INVALID_ARGUMENT;
  }
}
