// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.vectors.Example;
import java.util.Objects;

/**
 * A model and its settings for a prepare, as they come over the wire: nothing of it is checked.
 *
 * @param example the model, without data
 * @param preference the number of an execution preference
 * @param priority the HAL's number of a priority
 */
public record RawPreparation(Example example, int preference, int priority) {
  public RawPreparation {
    Objects.requireNonNull(example, "example");
  }
}
