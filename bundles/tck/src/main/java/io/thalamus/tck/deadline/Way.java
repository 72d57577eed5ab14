// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.deadline;

import io.thalamus.hal.Device;
import io.thalamus.tck.caching.CachingTests;
import java.util.Locale;

/** The calls that take a deadline. */
enum Way {
  PREPARE,
  RESTORE,
  EXECUTE,
  FENCED,
  BURST;

  /** Returns whether a device has such calls. */
  boolean isKnownTo(Device device) {
    return this != RESTORE || CachingTests.isClaimed(device);
  }

  /** Returns the word that names of checks begin with. */
  String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
