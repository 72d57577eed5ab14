// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Arrays;

/** The relation between stored integers of an operand and real numbers. Immutable. */
public sealed interface Quantization {
  /** The elements are what they are. */
  Quantization NONE = new None();

  /** One scale for all: {@code real = scale * (stored - zeroPoint)}. */
  static Quantization of(float scale, int zeroPoint) {
    return scale == 0 && zeroPoint == 0 ? NONE : new PerTensor(scale, zeroPoint);
  }

  /** The scale of the whole tensor; 0 where there is none. */
  default float scale() {
    return 0;
  }

  /** The stored value that stands for zero. */
  default int zeroPoint() {
    return 0;
  }

  /** No quantization. */
  record None() implements Quantization {}

  /** One scale and zero point for all elements. */
  record PerTensor(float scale, int zeroPoint) implements Quantization {
    // Written out, as the JVM takes milliseconds to derive them when they are first called.
    @Override
    public boolean equals(Object other) {
      return other instanceof PerTensor that
          && Float.compare(that.scale, scale) == 0
          && that.zeroPoint == zeroPoint;
    }

    @Override
    public int hashCode() {
      return 31 * Float.hashCode(scale) + zeroPoint;
    }
  }

  /**
   * A scale for each index along one dimension; the zero point is 0.
   *
   * <p>Does not copy the array, which must not be changed afterwards.
   */
  record PerChannel(int channelDimension, float[] scales) implements Quantization {
    @Override
    public boolean equals(Object other) {
      return other instanceof PerChannel that
          && that.channelDimension == channelDimension
          && Arrays.equals(that.scales, scales);
    }

    @Override
    public int hashCode() {
      return 31 * channelDimension + Arrays.hashCode(scales);
    }

    @Override
    public String toString() {
      return "PerChannel[dimension " + channelDimension + ", " + scales.length + " scales]";
    }
  }
}
