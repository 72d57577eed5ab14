// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.policy;

import io.thalamus.model.DeviceInfo;
import java.util.Objects;

/**
 * A device that operations can be given to. Immutable.
 *
 * @param id the short name, for example {@code cpu}
 * @param info its facts
 * @param isReference whether it is the CPU device that everything falls back to
 */
public record Candidate(String id, DeviceInfo info, boolean isReference) {
  public Candidate {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(info, "info");
  }
}
