// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.wire;

import java.io.IOException;

/** Bytes that are not what they should be. The message says what is wrong with them. */
public final class WireFormatException extends IOException {
  private static final long serialVersionUID = 1L;

  public WireFormatException(String message) {
    this(message, null);
  }

  public WireFormatException(String message, Throwable cause) {
    super(message, cause);
  }

  /** Returns the failure of one that nothing of a sort has the number of. */
  public static WireFormatException unknown(String what, int kind) {
    return new WireFormatException("unknown " + what + " " + kind);
  }
}
