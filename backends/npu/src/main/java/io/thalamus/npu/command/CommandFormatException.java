// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

/** Bytes are not a compiled model. The message says where and why. */
public final class CommandFormatException extends Exception {
  private static final long serialVersionUID = 1;

  public CommandFormatException(String message) {
    super(message);
  }
}
