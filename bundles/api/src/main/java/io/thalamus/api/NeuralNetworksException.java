// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import java.util.Objects;

/** A call was refused or failed. The message says what is wrong and what to do, in one line. */
public final class NeuralNetworksException extends Exception {
  private static final long serialVersionUID = 1L;

  private final ResultCode code;

  public NeuralNetworksException(ResultCode code, String message) {
    this(code, message, null);
  }

  public NeuralNetworksException(ResultCode code, String message, Throwable cause) {
    super(message, cause);
    this.code = Objects.requireNonNull(code, "code");
  }

  /** The NDK's word for it; never NO_ERROR. */
  public ResultCode code() {
    return code;
  }
}
