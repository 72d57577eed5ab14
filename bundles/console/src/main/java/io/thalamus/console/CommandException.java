// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import java.util.Collection;

/**
 * The failure of a command. The message is one line that says what is wrong and what to do.
 * Unchecked, since it passes through all that a command calls up to the shell.
 */
public final class CommandException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final int FAILED = 1;
  private static final int USAGE = 2;

  private final int exitStatus;

  /** A failure of a command that was called correctly. */
  public CommandException(String message) {
    this(message, FAILED, null);
  }

  /** A failure of a command that was called correctly, with its cause. */
  public CommandException(String message, Throwable cause) {
    this(message, FAILED, cause);
  }

  private CommandException(String message, int exitStatus, Throwable cause) {
    super(message, cause);
    this.exitStatus = exitStatus;
  }

  /**
   * Returns the failure of a command that names a device that is not here.
   *
   * @param message what is missing
   * @param devices the names that the command would have taken
   */
  public static CommandException missing(String message, Collection<String> devices) {
    return new CommandException(
        devices.isEmpty()
            ? message + "; none is here, nn:install adds one"
            : message + "; there are: " + String.join(", ", devices));
  }

  /** Returns the failure of a command that was called wrongly; says what to write instead. */
  public static CommandException usage(String message) {
    return new CommandException(message, USAGE, null);
  }

  /** Returns the message alone: shells show exceptions by this method. */
  @Override
  public String toString() {
    return getMessage();
  }

  /** Returns the exit status of a process that ran only this command: 1 failed, 2 wrong usage. */
  public int exitStatus() {
    return exitStatus;
  }
}
