// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.Shape;
import java.util.Objects;

/**
 * The contents that a buffer must have room for.
 *
 * @param shape dimensions that add to those of the roles; {@link Shape#NONE} for nothing to add
 */
public record BufferDesc(Shape shape) {
  public BufferDesc {
    Objects.requireNonNull(shape, "shape");
  }
}
