// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.memory.MemoryKind;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceType;
import io.thalamus.model.FeatureLevel;
import java.util.Set;

/**
 * A device as an application sees it. A value of the moment it was asked for.
 *
 * @param id the short name that people type, for example {@code cpu}
 * @param name the full name, for example {@code thalamus-cpu}
 * @param version of the implementation
 * @param type what the device is
 * @param featureLevel the newest HAL version that it speaks
 * @param capabilities declared performance
 * @param modelCacheFiles files of code that it stores a compilation in
 * @param dataCacheFiles files of data that it stores a compilation in
 * @param memoryKinds pools that it maps
 * @param memoryDomain whether it allocates buffers of its own
 * @param extensions that it knows
 * @param exactQuantized whether its quantized results equal the reference bit for bit
 * @param state whether it serves
 * @param reason why it does not serve; empty where it does
 * @param health how it has behaved
 */
public record DeviceDescription(
    String id,
    String name,
    String version,
    DeviceType type,
    FeatureLevel featureLevel,
    Capabilities capabilities,
    int modelCacheFiles,
    int dataCacheFiles,
    Set<MemoryKind> memoryKinds,
    boolean memoryDomain,
    Set<String> extensions,
    boolean exactQuantized,
    State state,
    String reason,
    DeviceHealth health) {
  /** How the location of a bundle begins whose devices are {@link State#ON_TRIAL}. */
  public static final String TRIAL_LOCATION = "trial:";

  /** Whether a device serves. */
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
