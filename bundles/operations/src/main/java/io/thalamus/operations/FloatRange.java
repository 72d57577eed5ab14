// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

/** A closed range that results are clamped to. */
public record FloatRange(float min, float max) {
  /** The nearest value in the range; NaN stays NaN. */
  public float clamp(float value) {
    return Math.min(Math.max(value, min), max);
  }
}
