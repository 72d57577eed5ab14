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
 * The real numbers that stored 8-bit integers stand for: {@code real = scale * (stored - zero)}.
 * Immutable; the arrays must not be changed.
 *
 * @param type of the real numbers, FLOAT or FLOAT16
 * @param isSigned whether the integers are INT8, else UINT8
 * @param scales one, or one for each index along an axis
 * @param zeros as many
 * @param axis where there are several
 */
public record Grid(DataType type, boolean isSigned, float[] scales, int[] zeros, int axis) {
  boolean isPerTensor() {
    return scales.length == 1;
  }

  boolean isSymmetric() {
    return Arrays.stream(zeros).allMatch(zero -> zero == 0);
  }

  private Grid along(int other) {
    return new Grid(type, isSigned, scales, zeros, other);
  }

  /** The same for the dimensions in another order. */
  public Grid permuted(int... order) {
    return isPerTensor() ? this : along(Dims.inverse(order)[axis]);
  }

  /** The same for another shape; null where its axis is not one of that. */
  public Grid reshaped(int[] from, int[] to) {
    if (isPerTensor()) {
      return this;
    }
    int outer = Dims.count(from, 0, axis);
    for (int i = 0; i < to.length; i++) {
      if (to[i] == from[axis] && Dims.count(to, 0, i) == outer) {
        return along(i);
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
    return axis == copied ? new Grid(type, isSigned, allScales, allZeros, 0) : null;
  }

  /** Has integers stand for 0. */
  public void fillZeros(Tensor integers) {
    int run = run(integers.shape());
    for (int start = 0; start < integers.count(); start += run) {
      byte zero = (byte) zeros[start / run % zeros.length];
      integers.bytes().asSlice(start, run).fill(zero);
    }
  }

  /** Returns the number of neighbours that share a scale. */
  private int run(int[] shape) {
    return isPerTensor() ? Dims.count(shape) : Dims.count(shape, axis + 1, shape.length);
  }

  /**
   * The real numbers of a known value.
   *
   * @param integers its 8-bit integers
   */
  public Tensor real(Tensor integers, Budget budget) {
    budget.take((long) integers.count() * Float.BYTES);
    MemorySegment bytes = MemorySegment.ofArray(floats(integers.bytes(), integers.shape()));
    Tensor floats = new Tensor(DataType.FLOAT, integers.shape(), bytes);
    return type == DataType.FLOAT ? floats : floats.cast(type, budget);
  }

  /** The real numbers as FLOATs, in one pass: networks have millions of them. */
  public byte[] floats(MemorySegment integers, int[] shape) {
    int count = Dims.count(shape);
    int run = run(shape);
    byte[] floats = new byte[Math.multiplyExact(count, Float.BYTES)];
    MemorySegment to = MemorySegment.ofArray(floats);
    int mask = isSigned ? -1 : 0xff;
    for (int start = 0; start < count; start += run) {
      int place = start / run % scales.length;
      float scale = scales[place];
      int zero = zeros[place];
      for (int i = start; i < start + run; i++) {
        int value = integers.get(ValueLayout.JAVA_BYTE, i) & mask;
        float real = (value - zero) * scale;
        if (type == DataType.FLOAT16) {
          real = Float.float16ToFloat(Float.floatToFloat16(real));
        }
        to.set(FLOAT, (long) i * Float.BYTES, real);
      }
    }
    return floats;
  }
}
