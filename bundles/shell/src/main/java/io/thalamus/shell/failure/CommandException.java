// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.failure;

/** A command failed. The message is one line that says what is wrong and what to do. */
public final class CommandException extends Exception {
  private static final long serialVersionUID = 1L;

  public CommandException(String message) {
    super(message);
  }

  public CommandException(String message, Throwable cause) {
    super(message, cause);
  }

  /** The message alone: shells show exceptions so. */
  @Override
  public String toString() {
    return getMessage();
  }

  /** What a process ends with that ran only this command. */
  public int exitStatus() {
    return 1;
  }
}
