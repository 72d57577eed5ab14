// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.wire;

import java.io.IOException;

/** A message is damaged. The message of the exception is one line. */
public final class WireException extends IOException {
  private static final long serialVersionUID = 1L;

  public WireException(String message) {
    super(message);
  }
}
