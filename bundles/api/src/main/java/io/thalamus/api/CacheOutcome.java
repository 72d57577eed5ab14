// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import java.util.Objects;

/**
 * The outcome of caching for one step of a plan. Immutable.
 *
 * @param device id of the step's device
 * @param operations how many operations the step has
 * @param origin where the prepared step came from
 */
public record CacheOutcome(String device, int operations, Origin origin) {
  public CacheOutcome {
    Objects.requireNonNull(device, "device");
    Objects.requireNonNull(origin, "origin");
  }

  /** The origin of a prepared step. */
  public enum Origin {
    /** It was compiled; no caching was asked for, or the device does not cache. */
    COMPILED,
    /** It was compiled, and the device was given files to store it in. */
    STORED,
    /** It was restored from its files. */
    RESTORED,
    /**
     * It was restored from its files, and its device says that it is worth compiling anew. The
     * runtime does so in the background, and takes the new one when it is ready.
     */
    STALE,
    /**
     * It was compiled, and not stored: its files are in use elsewhere, cannot be opened, or the
     * device stored nothing in them.
     */
    NOT_STORED;

    /** Returns whether it was restored, however good it is. */
    public boolean isRestored() {
      return this == RESTORED || this == STALE;
    }
  }
}
