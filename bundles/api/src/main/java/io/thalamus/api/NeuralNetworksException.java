// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/** A call was refused or failed. The message says what is wrong and what to do, in one line. */
public final class NeuralNetworksException extends Exception {
  private static final long serialVersionUID = 1L;

  private final ResultCode code;

  /** Null where there is no estimate: an exception is serializable, an Optional is not. */
  private final Duration retryAfter;

  public NeuralNetworksException(ResultCode code, String message) {
    this(code, message, null);
  }

  public NeuralNetworksException(ResultCode code, String message, Throwable cause) {
    this(code, message, Optional.empty(), cause);
  }

  /**
   * A failure after which the same call may succeed later.
   *
   * @param retryAfter when, as it is estimated
   */
  public NeuralNetworksException(
      ResultCode code, String message, Optional<Duration> retryAfter, Throwable cause) {
    super(message, cause);
    this.retryAfter = retryAfter.orElse(null);
    this.code = Objects.requireNonNull(code, "code");
  }

  /** Returns the refusal of what the caller gave. */
  public static NeuralNetworksException badData(String message) {
    return new NeuralNetworksException(ResultCode.BAD_DATA, message);
  }

  /** The NDK's word for it; never NO_ERROR. */
  public ResultCode code() {
    return code;
  }

  /** Returns the time after which the same call may succeed; empty where nobody estimated it. */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }
}
