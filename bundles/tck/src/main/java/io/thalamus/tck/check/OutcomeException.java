// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import io.thalamus.vectors.Outcome;
import java.util.Objects;

/** The end of a check before its last line: it failed, or there is nothing to check. */
public final class OutcomeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient Outcome outcome;

  OutcomeException(String message, Outcome outcome) {
    super(message);
    this.outcome = Objects.requireNonNull(outcome, "outcome");
  }

  Outcome outcome() {
    return outcome;
  }
}
