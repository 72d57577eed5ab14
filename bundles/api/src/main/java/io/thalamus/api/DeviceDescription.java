// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.DeviceInfo;
import java.util.Objects;

/**
 * A device as an application sees it, at the moment it was asked for. Immutable.
 *
 * @param id the short name that people type, for example {@code cpu}
 * @param info what the device says of itself
 * @param state whether it serves
 * @param reason why it does not serve; empty where it does
 * @param health how it has behaved
 */
public record DeviceDescription(
    String id, DeviceInfo info, State state, String reason, DeviceHealth health) {
  public DeviceDescription {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(info, "info");
    Objects.requireNonNull(state, "state");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(health, "health");
  }

  /** The beginning of the location of a bundle whose devices are {@link State#ON_TRIAL}. */
  public static final String TRIAL_LOCATION = "trial:";

  /** The states of a device. */
  public enum State {
    AVAILABLE,
    /**
     * It is only looked at: a plan that names it says what it would do, and nothing is prepared on
     * it. So is a device of a bundle whose location begins with {@link #TRIAL_LOCATION}.
     */
    ON_TRIAL,
    /** Its facts are impossible, or its name is taken; it is not used. */
    REFUSED,
    /** It failed too often, hung or gave a wrong answer; it is not used until a probe passes. */
    QUARANTINED,
    /** It takes no more work; its running calls are waited for. */
    LEAVING,
    /** It has left, but a call of it never returned: a thread and its class loader are lost. */
    LEAKED
  }
}
