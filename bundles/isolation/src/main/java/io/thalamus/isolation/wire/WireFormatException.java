// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

import java.io.IOException;

/** Bytes that are no message. The message says what is wrong with them. */
public final class WireFormatException extends IOException {
  private static final long serialVersionUID = 1L;

  public WireFormatException(String message) {
    this(message, null);
  }

  public WireFormatException(String message, Throwable cause) {
    super(message, cause);
  }
}
