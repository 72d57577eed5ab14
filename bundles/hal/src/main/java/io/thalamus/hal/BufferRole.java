// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import java.util.Objects;

/**
 * One use of a buffer.
 *
 * @param model the very prepared model that the device returned
 * @param direction whether it is an input or an output there
 * @param index of the input or output
 * @param frequency how often the buffer is used so, in (0, 1]
 */
public record BufferRole(PreparedModel model, Direction direction, int index, float frequency) {
  public BufferRole {
    Objects.requireNonNull(model, "model");
    Objects.requireNonNull(direction, "direction");
  }

  /** The side of a request. */
  public enum Direction {
    INPUT,
    OUTPUT
  }
}
