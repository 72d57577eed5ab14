// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.util.List;

/** The end of a session that a command asks for, from any depth of loops. */
public final class ExitRequest extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final int USAGE = 2;

  private final Integer status;

  private ExitRequest(String message, Integer status) {
    super(message);
    this.status = status;
  }

  static ExitRequest of(List<Object> words) {
    if (words == null || words.isEmpty()) {
      return new ExitRequest("exit", null);
    }
    try {
      return new ExitRequest("exit", Integer.parseInt(words.getFirst().toString()) & 0xff);
    } catch (NumberFormatException e) {
      return new ExitRequest("exit wants a number: " + words.getFirst(), USAGE);
    }
  }

  /** Returns the status that was asked for, or that of the session so far. */
  public int statusOr(int before) {
    return status == null ? before : status;
  }
}
