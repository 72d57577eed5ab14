// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.chaos;

/** The command failed. The message is one line that says what is wrong and what to do. */
public final class ChaosException extends Exception {
  private static final long serialVersionUID = 1L;
  private static final int FAILED = 1;
  private static final int USAGE = 2;

  private final int exitStatus;

  private ChaosException(String message, int exitStatus, Throwable cause) {
    super(message, cause);
    this.exitStatus = exitStatus;
  }

  static ChaosException failed(String message, Throwable cause) {
    return new ChaosException(message, FAILED, cause);
  }

  static ChaosException usage(String message) {
    return new ChaosException(
        "nn:chaos: " + message + "; usage: " + ChaosCommand.USAGE, USAGE, null);
  }

  /** The message alone: shells show exceptions so. */
  @Override
  public String toString() {
    return getMessage();
  }

  /** What a process ends with that ran only this command. */
  public int exitStatus() {
    return exitStatus;
  }
}
