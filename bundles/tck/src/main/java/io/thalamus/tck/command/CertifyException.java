// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.command;

/** The command failed. The message is one line that says what is wrong and what to do. */
public final class CertifyException extends Exception {
  private static final long serialVersionUID = 1L;

  private final int exitStatus;

  private CertifyException(String message, int exitStatus) {
    super(message);
    this.exitStatus = exitStatus;
  }

  static CertifyException failed(String message) {
    return new CertifyException(message, 1);
  }

  static CertifyException usage(String message) {
    return new CertifyException(message, 2);
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
