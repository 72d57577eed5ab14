// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import io.thalamus.api.BurstInfo;
import java.util.Objects;

/**
 * A burst that a stream has open, as it is at one moment. Immutable.
 *
 * @param info what went by it until now
 */
public record OpenBurst(String model, String version, BurstInfo info) {
  public OpenBurst {
    Objects.requireNonNull(model, "model");
    Objects.requireNonNull(version, "version");
    Objects.requireNonNull(info, "info");
  }
}
