// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.deadline;

import io.thalamus.model.Deadline;
import java.time.Duration;

/** The time that a call has until its deadline. */
enum TimeLeft {
  PAST("past"),
  /** AOSP's short deadline. */
  SHORT("5ms"),
  /** A tenth of what the call takes on a device that does nothing else. */
  TENTH("tenth"),
  NEVER("never");

  private static final Duration FIVE = Duration.ofMillis(5);

  private final String text;

  TimeLeft(String text) {
    this.text = text;
  }

  /** Returns the word in names of checks. */
  String text() {
    return text;
  }

  /** Returns a deadline that is this far away from now. */
  Deadline from(Duration idle) {
    return switch (this) {
      case PAST -> Deadline.after(Duration.ofSeconds(-1));
      case SHORT -> Deadline.after(FIVE);
      case TENTH -> Deadline.after(idle.dividedBy(10));
      case NEVER -> Deadline.NONE;
    };
  }
}
