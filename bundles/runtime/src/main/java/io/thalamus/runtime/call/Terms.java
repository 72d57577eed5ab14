// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.hal.ExecutionControl;
import java.time.Duration;
import java.util.Optional;

/**
 * The terms of one call. Immutable.
 *
 * @param name of the method, for people
 * @param admission until when the device takes such calls
 * @param limit after which the call hangs; empty for a call in the thread of its caller, which
 *     waits for as long as it takes
 * @param control that the driver asks at its checkpoints, which may pause its thread; a caller that
 *     waits for the driver asks it for the status alone
 * @param pauses of the call, which do not count against the limit
 */
public record Terms(
    String name,
    Admission admission,
    Optional<Duration> limit,
    ExecutionControl control,
    Pauses pauses) {
  /** Until when a device takes calls. */
  public enum Admission {
    /**
     * Until the device begins to leave, and not in quarantine: for work that a caller waits for.
     */
    WHILE_SERVING,
    /** Until the device begins to leave, also in quarantine: for probes. */
    UNTIL_DEPARTURE,
    /** Until the device has left: for contents that must be copied out of it. */
    UNTIL_LEFT,
    /** Always: for what gives something back to the device. */
    ALWAYS
  }

  /** Terms of a call that only its limit ends. */
  public Terms(String name, Admission admission, Optional<Duration> limit) {
    this(name, admission, limit, ExecutionControl.NONE);
  }

  /** Terms of a call that is never paused. */
  public Terms(
      String name, Admission admission, Optional<Duration> limit, ExecutionControl control) {
    this(name, admission, limit, control, Pauses.NONE);
  }
}
