// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static io.thalamus.simd.kernel.Lanes.INTS;
import static jdk.incubator.vector.VectorOperators.ADD;
import static jdk.incubator.vector.VectorOperators.NE;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;

/**
 * As {@link MatrixKernels}, for a single row and a narrow panel: one or two sums would wait for the
 * latency of each addition. So they are divided into parts, of every fourth k from the first,
 * second, third and fourth one on, which are added in the end: the first to the second, the third
 * to the fourth, and the one sum to the other.
 */
final class SingleKernels {
  /** Parts of a sum. */
  static final int PARTS = 4;

  private static final ByteOrder NATIVE = ByteOrder.nativeOrder();

  /** Of a vector of the right matrix; long, as offsets into segments are. */
  private static final long BYTES = COUNT * (long) Float.BYTES;

  private SingleKernels() {}

  /** One row times a panel of two vectors. */
  static void wide(
      float[] left,
      int leftAt,
      MemorySegment right,
      long panel,
      int depth,
      float[] bias,
      int column,
      float[] added,
      int addedAt,
      float[] result,
      int resultAt,
      int low,
      int high) {
    int from = addedAt + column;
    FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
    FloatVector a0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector bias1 = FloatVector.fromArray(FLOATS, bias, column + COUNT);
    FloatVector a1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    FloatVector b0 = FloatVector.zero(FLOATS);
    FloatVector b1 = FloatVector.zero(FLOATS);
    FloatVector c0 = FloatVector.zero(FLOATS);
    FloatVector c1 = FloatVector.zero(FLOATS);
    FloatVector d0 = FloatVector.zero(FLOATS);
    FloatVector d1 = FloatVector.zero(FLOATS);
    int k = 0;
    for (; k < depth - 3; k += PARTS) {
      long at = panel + k * 2 * BYTES;
      FloatVector x0 = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      a0 = x0.fma(FloatVector.fromMemorySegment(FLOATS, right, at, NATIVE), a0);
      a1 = x0.fma(FloatVector.fromMemorySegment(FLOATS, right, at + BYTES, NATIVE), a1);
      FloatVector x1 = FloatVector.broadcast(FLOATS, left[leftAt + k + 1]);
      b0 = x1.fma(FloatVector.fromMemorySegment(FLOATS, right, at + 2 * BYTES, NATIVE), b0);
      b1 = x1.fma(FloatVector.fromMemorySegment(FLOATS, right, at + 3 * BYTES, NATIVE), b1);
      FloatVector x2 = FloatVector.broadcast(FLOATS, left[leftAt + k + 2]);
      c0 = x2.fma(FloatVector.fromMemorySegment(FLOATS, right, at + 4 * BYTES, NATIVE), c0);
      c1 = x2.fma(FloatVector.fromMemorySegment(FLOATS, right, at + 5 * BYTES, NATIVE), c1);
      FloatVector x3 = FloatVector.broadcast(FLOATS, left[leftAt + k + 3]);
      d0 = x3.fma(FloatVector.fromMemorySegment(FLOATS, right, at + 6 * BYTES, NATIVE), d0);
      d1 = x3.fma(FloatVector.fromMemorySegment(FLOATS, right, at + 7 * BYTES, NATIVE), d1);
    }
    if (k < depth) {
      long at = panel + k * 2 * BYTES;
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      a0 = x.fma(FloatVector.fromMemorySegment(FLOATS, right, at, NATIVE), a0);
      a1 = x.fma(FloatVector.fromMemorySegment(FLOATS, right, at + BYTES, NATIVE), a1);
    }
    if (k + 1 < depth) {
      long at = panel + (k + 1) * 2 * BYTES;
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k + 1]);
      b0 = x.fma(FloatVector.fromMemorySegment(FLOATS, right, at, NATIVE), b0);
      b1 = x.fma(FloatVector.fromMemorySegment(FLOATS, right, at + BYTES, NATIVE), b1);
    }
    if (k + 2 < depth) {
      long at = panel + (k + 2) * 2 * BYTES;
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k + 2]);
      c0 = x.fma(FloatVector.fromMemorySegment(FLOATS, right, at, NATIVE), c0);
      c1 = x.fma(FloatVector.fromMemorySegment(FLOATS, right, at + BYTES, NATIVE), c1);
    }
    a0 = a0.add(b0).add(c0.add(d0));
    a1 = a1.add(b1).add(c1.add(d1));
    IntVector least = IntVector.broadcast(INTS, low);
    IntVector most = IntVector.broadcast(INTS, high);
    int to = resultAt + column;
    a0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(a0, a0.compare(NE, a0))
        .intoArray(result, to);
    a1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(a1, a1.compare(NE, a1))
        .intoArray(result, to + COUNT);
  }

  /** As {@link #wide}, for a panel of one vector. */
  static void narrow(
      float[] left,
      int leftAt,
      MemorySegment right,
      long panel,
      int depth,
      float[] bias,
      int column,
      float[] added,
      int addedAt,
      float[] result,
      int resultAt,
      int low,
      int high) {
    int from = addedAt + column;
    FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
    FloatVector a0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector b0 = FloatVector.zero(FLOATS);
    FloatVector c0 = FloatVector.zero(FLOATS);
    FloatVector d0 = FloatVector.zero(FLOATS);
    int k = 0;
    for (; k < depth - 3; k += PARTS) {
      long at = panel + k * BYTES;
      FloatVector x0 = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      a0 = x0.fma(FloatVector.fromMemorySegment(FLOATS, right, at, NATIVE), a0);
      FloatVector x1 = FloatVector.broadcast(FLOATS, left[leftAt + k + 1]);
      b0 = x1.fma(FloatVector.fromMemorySegment(FLOATS, right, at + BYTES, NATIVE), b0);
      FloatVector x2 = FloatVector.broadcast(FLOATS, left[leftAt + k + 2]);
      c0 = x2.fma(FloatVector.fromMemorySegment(FLOATS, right, at + 2 * BYTES, NATIVE), c0);
      FloatVector x3 = FloatVector.broadcast(FLOATS, left[leftAt + k + 3]);
      d0 = x3.fma(FloatVector.fromMemorySegment(FLOATS, right, at + 3 * BYTES, NATIVE), d0);
    }
    if (k < depth) {
      long at = panel + k * BYTES;
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      a0 = x.fma(FloatVector.fromMemorySegment(FLOATS, right, at, NATIVE), a0);
    }
    if (k + 1 < depth) {
      long at = panel + (k + 1) * BYTES;
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k + 1]);
      b0 = x.fma(FloatVector.fromMemorySegment(FLOATS, right, at, NATIVE), b0);
    }
    if (k + 2 < depth) {
      long at = panel + (k + 2) * BYTES;
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k + 2]);
      c0 = x.fma(FloatVector.fromMemorySegment(FLOATS, right, at, NATIVE), c0);
    }
    a0 = a0.add(b0).add(c0.add(d0));
    IntVector least = IntVector.broadcast(INTS, low);
    IntVector most = IntVector.broadcast(INTS, high);
    int to = resultAt + column;
    a0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(a0, a0.compare(NE, a0))
        .intoArray(result, to);
  }

  /** Returns the sum of products of two lines, which is exact in any order. */
  static float dot(float[] left, int leftAt, float[] right, int at, int depth) {
    FloatVector a = FloatVector.zero(FLOATS);
    FloatVector b = a;
    FloatVector c = a;
    FloatVector d = a;
    int k = 0;
    for (; k <= depth - 4 * COUNT; k += 4 * COUNT) {
      int from = leftAt + k;
      int to = at + k;
      FloatVector x0 = FloatVector.fromArray(FLOATS, left, from);
      FloatVector x1 = FloatVector.fromArray(FLOATS, left, from + COUNT);
      FloatVector x2 = FloatVector.fromArray(FLOATS, left, from + 2 * COUNT);
      FloatVector x3 = FloatVector.fromArray(FLOATS, left, from + 3 * COUNT);
      a = x0.fma(FloatVector.fromArray(FLOATS, right, to), a);
      b = x1.fma(FloatVector.fromArray(FLOATS, right, to + COUNT), b);
      c = x2.fma(FloatVector.fromArray(FLOATS, right, to + 2 * COUNT), c);
      d = x3.fma(FloatVector.fromArray(FLOATS, right, to + 3 * COUNT), d);
    }
    float sum = a.add(b).add(c.add(d)).reduceLanes(ADD);
    for (; k < depth; k++) {
      sum += left[leftAt + k] * right[at + k];
    }
    return sum;
  }
}
