// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

/** A text is no fault script. The message is one line that says what is wrong and what to write. */
public final class FaultScriptException extends Exception {
  private static final long serialVersionUID = 1L;

  public FaultScriptException(String message) {
    super(message);
  }
}
