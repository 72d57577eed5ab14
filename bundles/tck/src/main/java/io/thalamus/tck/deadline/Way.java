// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.deadline;

import java.util.Locale;

/** The calls that take a deadline. */
enum Way {
  PREPARE,
  RESTORE,
  EXECUTE,
  FENCED,
  BURST;

  /** Returns the word that names of checks begin with. */
  String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
