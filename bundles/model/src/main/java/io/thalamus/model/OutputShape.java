// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Objects;

/**
 * The shape that an output has, or would have had.
 *
 * @param shape the dimensions as far as the execution found out
 * @param isSufficient whether the caller's buffer was large enough
 */
public record OutputShape(Shape shape, boolean isSufficient) {
  public OutputShape {
    Objects.requireNonNull(shape, "shape");
  }
}
