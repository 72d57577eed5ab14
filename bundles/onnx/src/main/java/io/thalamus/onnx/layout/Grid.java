// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import io.thalamus.onnx.fold.Dims;
import java.util.Arrays;

/**
 * The stored integers that a constant of real numbers stands for: {@code real = scale * (stored -
 * zero)}. Immutable; the arrays must not be changed.
 *
 * @param isSigned whether it was stored as INT8, else as UINT8
 * @param scales one, or one for each index along an axis
 * @param zeros as many
 * @param axis where there are several
 */
public record Grid(boolean isSigned, float[] scales, int[] zeros, int axis) {
  boolean isPerTensor() {
    return scales.length == 1;
  }

  boolean isSymmetric() {
    return Arrays.stream(zeros).allMatch(zero -> zero == 0);
  }

  /** The same for the dimensions in another order. */
  public Grid permuted(int... order) {
    return isPerTensor() ? this : new Grid(isSigned, scales, zeros, Dims.inverse(order)[axis]);
  }

  /** The same for another shape; null where its axis is not one of that. */
  public Grid reshaped(int[] from, int[] to) {
    if (isPerTensor()) {
      return this;
    }
    int outer = Dims.count(from, 0, axis);
    for (int i = 0; i < to.length; i++) {
      if (to[i] == from[axis] && Dims.count(to, 0, i) == outer) {
        return new Grid(isSigned, scales, zeros, i);
      }
    }
    return null;
  }

  /**
   * The same for copies of its axis, one after the other, as the first axis; null where it is along
   * another.
   */
  public Grid repeated(int copied, int times) {
    if (isPerTensor()) {
      return this;
    }
    int count = scales.length;
    float[] allScales = new float[times * count];
    int[] allZeros = new int[times * count];
    for (int i = 0; i < allZeros.length; i++) {
      allScales[i] = scales[i % count];
      allZeros[i] = zeros[i % count];
    }
    return axis == copied ? new Grid(isSigned, allScales, allZeros, 0) : null;
  }

  /** The stored integer of a real number at an index along the axis. */
  int stored(float real, int index) {
    int place = isPerTensor() ? 0 : index;
    return Math.round(real / scales[place]) + zeros[place];
  }
}
