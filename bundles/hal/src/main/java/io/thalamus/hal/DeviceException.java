// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.ErrorStatus;
import java.util.Objects;

/** A device refuses or fails a call. The message says what is wrong, for people. */
public final class DeviceException extends Exception {
  private static final long serialVersionUID = 1L;

  private final ErrorStatus status;

  public DeviceException(ErrorStatus status, String message) {
    this(status, message, null);
  }

  public DeviceException(ErrorStatus status, String message, Throwable cause) {
    super(message, cause);
    this.status = Objects.requireNonNull(status, "status");
  }

  /** The HAL's word for it; never NONE. */
  public ErrorStatus status() {
    return status;
  }
}
