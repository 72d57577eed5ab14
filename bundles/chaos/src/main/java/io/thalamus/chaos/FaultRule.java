// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import java.util.Objects;

/** A fault and when it strikes. Immutable; {@link #toString()} is its line in a script. */
public record FaultRule(Trigger trigger, Fault fault) {
  public FaultRule {
    Objects.requireNonNull(trigger, "trigger");
    Objects.requireNonNull(fault, "fault");
  }

  @Override
  public String toString() {
    return trigger.toString() + fault;
  }
}
