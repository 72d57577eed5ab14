// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.vectors.Outcome;
import java.util.Objects;

/**
 * The result of one check. A value.
 *
 * @param group of checks
 * @param name of the check within its group
 * @param outcome how it ended
 */
public record Finding(String group, String name, Outcome outcome) {
  public Finding {
    Objects.requireNonNull(group, "group");
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(outcome, "outcome");
  }

  /** By what {@link Exceptions} name it: {@code group/name}. */
  public String id() {
    return group + "/" + name;
  }

  /** All of it in one line. */
  public String text() {
    return id() + Outcome.suffix(outcome);
  }
}
