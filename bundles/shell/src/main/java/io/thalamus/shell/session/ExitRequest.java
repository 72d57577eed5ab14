// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.util.List;

/** The end of a session that a command asks for, from any depth of loops. */
public final class ExitRequest extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final int USAGE = 2;

  private final Integer status;
  private final boolean isWrong;

  private ExitRequest(String message, Integer status, boolean isWrong) {
    super(message);
    this.status = status;
    this.isWrong = isWrong;
  }

  static ExitRequest of(List<Object> words) {
    if (words == null || words.isEmpty()) {
      return new ExitRequest("exit", null, false);
    }
    try {
      return new ExitRequest("exit", Integer.parseInt(words.getFirst().toString()) & 0xff, false);
    } catch (NumberFormatException e) {
      return new ExitRequest("exit wants a number, not " + words.getFirst(), USAGE, true);
    }
  }

  /** Returns true if what was asked for is no status. */
  boolean isWrong() {
    return isWrong;
  }

  /** Returns the status that was asked for, or that of the session so far. */
  public int statusOr(int before) {
    return status == null ? before : status;
  }
}
