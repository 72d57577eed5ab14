// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * The duration of an execution, when it was measured.
 *
 * @param onDevice the time of the hardware alone; at most {@code inDriver}
 * @param inDriver the time of the driver, hardware included
 */
public record Timing(Optional<Duration> onDevice, Optional<Duration> inDriver) {
  /** Not measured. */
  public static final Timing NONE = new Timing(Optional.empty(), Optional.empty());

  public Timing {
    Objects.requireNonNull(onDevice, "onDevice");
    Objects.requireNonNull(inDriver, "inDriver");
  }

  /** Both times known. */
  public static Timing of(Duration onDevice, Duration inDriver) {
    return new Timing(Optional.of(onDevice), Optional.of(inDriver));
  }
}
