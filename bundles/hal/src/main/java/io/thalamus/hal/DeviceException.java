// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.ErrorStatus;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/** A device refuses or fails a call. The message says what is wrong, for people. */
public final class DeviceException extends Exception {
  private static final long serialVersionUID = 1L;

  private final ErrorStatus status;

  /** Null where there is no estimate: an exception is serializable, an Optional is not. */
  private final Duration retryAfter;

  public DeviceException(ErrorStatus status, String message) {
    this(status, message, null);
  }

  public DeviceException(ErrorStatus status, String message, Throwable cause) {
    this(status, message, Optional.empty(), cause);
  }

  /**
   * A failure after which the same call may succeed later.
   *
   * @param retryAfter when, as the device estimates it
   */
  public DeviceException(
      ErrorStatus status, String message, Optional<Duration> retryAfter, Throwable cause) {
    super(message, cause);
    this.retryAfter = retryAfter.orElse(null);
    this.status = Objects.requireNonNull(status, "status");
  }

  /** Returns the refusal of what the caller gave. */
  public static DeviceException invalid(String message) {
    return new DeviceException(ErrorStatus.INVALID_ARGUMENT, message);
  }

  /** Returns a failure for which the HAL has no word of its own. */
  public static DeviceException failure(String message) {
    return new DeviceException(ErrorStatus.GENERAL_FAILURE, message);
  }

  /** The HAL's word for it; never NONE. */
  public ErrorStatus status() {
    return status;
  }

  /** Returns the time after which the same call may succeed; empty where nobody estimated it. */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }
}
