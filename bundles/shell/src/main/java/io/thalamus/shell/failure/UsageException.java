// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.failure;

/** A command was called wrongly. The message is one line that says what to write instead. */
public final class UsageException extends Exception {
  private static final long serialVersionUID = 1L;

  public UsageException(String message) {
    super(message);
  }

  /** The message alone: shells show exceptions so. */
  @Override
  public String toString() {
    return getMessage();
  }

  /** What a process ends with that ran only this command. */
  public int exitStatus() {
    return 2;
  }
}
