// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import java.util.Objects;

/**
 * The layer that refused a mutated example.
 *
 * @param layer the first one that did
 * @param message in its words; for an accepted example what was not refused
 */
public record Verdict(Layer layer, String message) {
  public Verdict {
    Objects.requireNonNull(layer, "layer");
    Objects.requireNonNull(message, "message");
  }

  /** Returns whether somebody refused. */
  public boolean isRefused() {
    return layer != Layer.NOBODY;
  }

  /** In the order in which a model passes them. */
  public enum Layer {
    /** The raw form cannot be made into typed objects. */
    DECODING,
    /** The rules for models are broken; the device says so, too. */
    VALIDATION,
    /** Only the device refuses. */
    DEVICE,
    /** The device accepts, or refuses for another reason than INVALID_ARGUMENT. */
    NOBODY
  }
}
