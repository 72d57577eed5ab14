// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * The wishes of an application that opens a burst. Immutable; start from {@link #DEFAULT}.
 *
 * @param depth how many executions it takes at once, from 1 to {@value #MAXIMUM_DEPTH}. Each needs
 *     a thread; the requests of the others wait in the queue while a device works on one
 * @param pollWindow how long the readers of its queues poll before they sleep: short answers cost
 *     processor time. Empty for what the preference of the compilation means: none for LOW_POWER,
 *     else 50 microseconds
 */
public record BurstOptions(int depth, Optional<Duration> pollWindow) {
  /** The largest depth. */
  public static final int MAXIMUM_DEPTH = 64;

  /** One execution at a time, as in NNAPI, and the window of the preference. */
  public static final BurstOptions DEFAULT = new BurstOptions(1, Optional.empty());

  public BurstOptions {
    Objects.requireNonNull(pollWindow, "pollWindow");
    if (depth < 1 || depth > MAXIMUM_DEPTH) {
      throw new IllegalArgumentException(
          "a burst has a depth from 1 to " + MAXIMUM_DEPTH + ", not " + depth);
    }
    if (pollWindow.isPresent() && pollWindow.get().isNegative()) {
      throw new IllegalArgumentException("a window to poll is not negative: " + pollWindow.get());
    }
  }

  public BurstOptions withDepth(int value) {
    return new BurstOptions(value, pollWindow);
  }

  public BurstOptions withPollWindow(Duration value) {
    return new BurstOptions(depth, Optional.of(value));
  }
}
