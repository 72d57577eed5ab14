// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import static io.thalamus.model.LittleEndian.FLOAT;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
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

  /** Returns the number of neighbours that share a scale. */
  private int run(int[] shape) {
    return isPerTensor() ? Dims.count(shape) : Dims.count(shape, axis + 1, shape.length);
  }

  /** The real numbers of 8-bit integers, in one pass: networks have millions of them. */
  public Tensor real(Tensor integers, Budget budget) {
    int count = integers.count();
    int run = run(integers.shape());
    MemorySegment from = integers.bytes();
    MemorySegment to = MemorySegment.ofArray(budget.bytes((long) count * Float.BYTES));
    int mask = isSigned ? -1 : 0xff;
    for (int start = 0; start < count; start += run) {
      int place = start / run % scales.length;
      float scale = scales[place];
      int zero = zeros[place];
      for (int i = start; i < start + run; i++) {
        int value = from.get(ValueLayout.JAVA_BYTE, i) & mask;
        to.set(FLOAT, (long) i * Float.BYTES, (value - zero) * scale);
      }
    }
    return new Tensor(DataType.FLOAT, integers.shape(), to);
  }

  /** The 8-bit integers of real numbers, plus a number; null where one does not fit. */
  byte[] stored(MemorySegment reals, int[] shape, int shift) {
    byte[] bytes = new byte[Dims.count(shape)];
    int run = run(shape);
    int least = isSigned ? Byte.MIN_VALUE : 0;
    int most = isSigned ? Byte.MAX_VALUE : 0xff;
    for (int start = 0; start < bytes.length; start += run) {
      int place = start / run % scales.length;
      float scale = scales[place];
      int zero = zeros[place];
      for (int i = start; i < start + run; i++) {
        int value = Math.round(reals.get(FLOAT, (long) i * Float.BYTES) / scale) + zero;
        if (value < least || value > most) {
          return null;
        }
        bytes[i] = (byte) (value + shift);
      }
    }
    return bytes;
  }
}
