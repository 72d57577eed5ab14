// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.util.Objects;

/** How the run of one example ended. A value. */
public sealed interface Outcome {
  /** Everything was as expected. */
  Outcome PASSED = new Passed();

  /** Everything was as expected. */
  record Passed() implements Outcome {}

  /**
   * Something was not as expected.
   *
   * @param reason in one line: where it matters with operation, element, expected and actual
   */
  record Failed(String reason) implements Outcome {
    public Failed {
      Objects.requireNonNull(reason, "reason");
    }
  }

  /**
   * The example does not apply here.
   *
   * @param reason why, in one line
   */
  record Skipped(String reason) implements Outcome {
    public Skipped {
      Objects.requireNonNull(reason, "reason");
    }
  }
}
