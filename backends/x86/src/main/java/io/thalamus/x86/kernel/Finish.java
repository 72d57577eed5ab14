// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

import io.thalamus.operations.FusedActivation;
import io.thalamus.x86.kernel.Mapped.Kind;
import java.util.Optional;

/**
 * What sums become before they are stored.
 *
 * @param isAdded whether what stands in the result is added to them first
 * @param activation of results
 * @param function of {@link Sums#FUNCTIONS} that results become; empty where there is an activation
 */
public record Finish(boolean isAdded, FusedActivation activation, Optional<Kind> function) {
  /** Sums that are stored as they are. */
  public static final Finish NONE = of(FusedActivation.NONE);

  /** Sums that are added to what stands in the result. */
  public static final Finish ADDED = new Finish(true, FusedActivation.NONE, Optional.empty());

  /** Returns that of results with an activation alone. */
  public static Finish of(FusedActivation activation) {
    return new Finish(false, activation, Optional.empty());
  }
}
