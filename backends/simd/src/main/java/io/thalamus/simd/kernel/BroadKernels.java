// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static io.thalamus.simd.kernel.Lanes.INTS;
import static io.thalamus.simd.kernel.Rows.DISTANCE;
import static jdk.incubator.vector.VectorOperators.NE;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;

/**
 * As {@link MatrixKernels}, for vectors of 64 bytes, of which processors have 32 registers: one
 * group of rows times a panel of up to four vectors. The 24 sums of six rows, a row of the panel
 * and an element of the left matrix take 29.
 *
 * <p>Wide rather than tall: 24 multiply-adds share ten loads, where twelve rows by two vectors
 * needed fourteen. A call takes one group, so that nothing but the addresses of its loop needs
 * general registers; with a loop around it the JVM moved some of these to and fro in each turn.
 *
 * <p>Every operation is spelled out: behind so many calls that the JVM must inline, it no longer
 * inlines methods of ours, and a vector that is passed to one would become an object.
 */
public final class BroadKernels {
  /** Rows of a group. */
  static final int ROWS = 6;

  /** True if there are registers for so many sums. */
  static final boolean FIT = COUNT >= 16;

  private static final ByteOrder NATIVE = ByteOrder.nativeOrder();

  /** Of a vector of the right matrix; long, as offsets into segments are. */
  private static final long BYTES = Lanes.COUNT * (long) Float.BYTES;

  private BroadKernels() {}

  /** Six rows times a panel of four vectors. */
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
      int addedDistance,
      float[] result,
      int resultAt,
      int resultDistance,
      int low,
      int high) {
    FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
    FloatVector bias1 = FloatVector.fromArray(FLOATS, bias, column + COUNT);
    FloatVector bias2 = FloatVector.fromArray(FLOATS, bias, column + 2 * COUNT);
    FloatVector bias3 = FloatVector.fromArray(FLOATS, bias, column + 3 * COUNT);
    int from = addedAt + column;
    FloatVector a0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector a1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    FloatVector a2 = FloatVector.fromArray(FLOATS, added, from + 2 * COUNT).add(bias2);
    FloatVector a3 = FloatVector.fromArray(FLOATS, added, from + 3 * COUNT).add(bias3);
    from += addedDistance;
    FloatVector b0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector b1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    FloatVector b2 = FloatVector.fromArray(FLOATS, added, from + 2 * COUNT).add(bias2);
    FloatVector b3 = FloatVector.fromArray(FLOATS, added, from + 3 * COUNT).add(bias3);
    from += addedDistance;
    FloatVector c0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector c1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    FloatVector c2 = FloatVector.fromArray(FLOATS, added, from + 2 * COUNT).add(bias2);
    FloatVector c3 = FloatVector.fromArray(FLOATS, added, from + 3 * COUNT).add(bias3);
    from += addedDistance;
    FloatVector d0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector d1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    FloatVector d2 = FloatVector.fromArray(FLOATS, added, from + 2 * COUNT).add(bias2);
    FloatVector d3 = FloatVector.fromArray(FLOATS, added, from + 3 * COUNT).add(bias3);
    from += addedDistance;
    FloatVector e0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector e1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    FloatVector e2 = FloatVector.fromArray(FLOATS, added, from + 2 * COUNT).add(bias2);
    FloatVector e3 = FloatVector.fromArray(FLOATS, added, from + 3 * COUNT).add(bias3);
    from += addedDistance;
    FloatVector f0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector f1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    FloatVector f2 = FloatVector.fromArray(FLOATS, added, from + 2 * COUNT).add(bias2);
    FloatVector f3 = FloatVector.fromArray(FLOATS, added, from + 3 * COUNT).add(bias3);
    for (int k = 0; k < depth; k++) {
      FloatVector right0 =
          FloatVector.fromMemorySegment(FLOATS, right, panel + k * 4 * BYTES, NATIVE);
      FloatVector right1 =
          FloatVector.fromMemorySegment(FLOATS, right, panel + k * 4 * BYTES + BYTES, NATIVE);
      FloatVector right2 =
          FloatVector.fromMemorySegment(FLOATS, right, panel + k * 4 * BYTES + 2 * BYTES, NATIVE);
      FloatVector right3 =
          FloatVector.fromMemorySegment(FLOATS, right, panel + k * 4 * BYTES + 3 * BYTES, NATIVE);
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      a0 = x.fma(right0, a0);
      a1 = x.fma(right1, a1);
      a2 = x.fma(right2, a2);
      a3 = x.fma(right3, a3);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + DISTANCE]);
      b0 = x.fma(right0, b0);
      b1 = x.fma(right1, b1);
      b2 = x.fma(right2, b2);
      b3 = x.fma(right3, b3);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 2 * DISTANCE]);
      c0 = x.fma(right0, c0);
      c1 = x.fma(right1, c1);
      c2 = x.fma(right2, c2);
      c3 = x.fma(right3, c3);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 3 * DISTANCE]);
      d0 = x.fma(right0, d0);
      d1 = x.fma(right1, d1);
      d2 = x.fma(right2, d2);
      d3 = x.fma(right3, d3);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 4 * DISTANCE]);
      e0 = x.fma(right0, e0);
      e1 = x.fma(right1, e1);
      e2 = x.fma(right2, e2);
      e3 = x.fma(right3, e3);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 5 * DISTANCE]);
      f0 = x.fma(right0, f0);
      f1 = x.fma(right1, f1);
      f2 = x.fma(right2, f2);
      f3 = x.fma(right3, f3);
    }
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
    a2.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(a2, a2.compare(NE, a2))
        .intoArray(result, to + 2 * COUNT);
    a3.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(a3, a3.compare(NE, a3))
        .intoArray(result, to + 3 * COUNT);
    to += resultDistance;
    b0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(b0, b0.compare(NE, b0))
        .intoArray(result, to);
    b1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(b1, b1.compare(NE, b1))
        .intoArray(result, to + COUNT);
    b2.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(b2, b2.compare(NE, b2))
        .intoArray(result, to + 2 * COUNT);
    b3.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(b3, b3.compare(NE, b3))
        .intoArray(result, to + 3 * COUNT);
    to += resultDistance;
    c0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(c0, c0.compare(NE, c0))
        .intoArray(result, to);
    c1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(c1, c1.compare(NE, c1))
        .intoArray(result, to + COUNT);
    c2.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(c2, c2.compare(NE, c2))
        .intoArray(result, to + 2 * COUNT);
    c3.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(c3, c3.compare(NE, c3))
        .intoArray(result, to + 3 * COUNT);
    to += resultDistance;
    d0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(d0, d0.compare(NE, d0))
        .intoArray(result, to);
    d1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(d1, d1.compare(NE, d1))
        .intoArray(result, to + COUNT);
    d2.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(d2, d2.compare(NE, d2))
        .intoArray(result, to + 2 * COUNT);
    d3.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(d3, d3.compare(NE, d3))
        .intoArray(result, to + 3 * COUNT);
    to += resultDistance;
    e0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(e0, e0.compare(NE, e0))
        .intoArray(result, to);
    e1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(e1, e1.compare(NE, e1))
        .intoArray(result, to + COUNT);
    e2.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(e2, e2.compare(NE, e2))
        .intoArray(result, to + 2 * COUNT);
    e3.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(e3, e3.compare(NE, e3))
        .intoArray(result, to + 3 * COUNT);
    to += resultDistance;
    f0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(f0, f0.compare(NE, f0))
        .intoArray(result, to);
    f1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(f1, f1.compare(NE, f1))
        .intoArray(result, to + COUNT);
    f2.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(f2, f2.compare(NE, f2))
        .intoArray(result, to + 2 * COUNT);
    f3.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(f3, f3.compare(NE, f3))
        .intoArray(result, to + 3 * COUNT);
  }

  /** As {@link #wide}, for a panel of two vectors. */
  static void half(
      float[] left,
      int leftAt,
      MemorySegment right,
      long panel,
      int depth,
      float[] bias,
      int column,
      float[] added,
      int addedAt,
      int addedDistance,
      float[] result,
      int resultAt,
      int resultDistance,
      int low,
      int high) {
    FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
    FloatVector bias1 = FloatVector.fromArray(FLOATS, bias, column + COUNT);
    int from = addedAt + column;
    FloatVector a0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector a1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    from += addedDistance;
    FloatVector b0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector b1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    from += addedDistance;
    FloatVector c0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector c1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    from += addedDistance;
    FloatVector d0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector d1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    from += addedDistance;
    FloatVector e0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector e1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    from += addedDistance;
    FloatVector f0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector f1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    for (int k = 0; k < depth; k++) {
      FloatVector right0 =
          FloatVector.fromMemorySegment(FLOATS, right, panel + k * 2 * BYTES, NATIVE);
      FloatVector right1 =
          FloatVector.fromMemorySegment(FLOATS, right, panel + k * 2 * BYTES + BYTES, NATIVE);
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      a0 = x.fma(right0, a0);
      a1 = x.fma(right1, a1);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + DISTANCE]);
      b0 = x.fma(right0, b0);
      b1 = x.fma(right1, b1);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 2 * DISTANCE]);
      c0 = x.fma(right0, c0);
      c1 = x.fma(right1, c1);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 3 * DISTANCE]);
      d0 = x.fma(right0, d0);
      d1 = x.fma(right1, d1);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 4 * DISTANCE]);
      e0 = x.fma(right0, e0);
      e1 = x.fma(right1, e1);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 5 * DISTANCE]);
      f0 = x.fma(right0, f0);
      f1 = x.fma(right1, f1);
    }
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
    to += resultDistance;
    b0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(b0, b0.compare(NE, b0))
        .intoArray(result, to);
    b1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(b1, b1.compare(NE, b1))
        .intoArray(result, to + COUNT);
    to += resultDistance;
    c0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(c0, c0.compare(NE, c0))
        .intoArray(result, to);
    c1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(c1, c1.compare(NE, c1))
        .intoArray(result, to + COUNT);
    to += resultDistance;
    d0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(d0, d0.compare(NE, d0))
        .intoArray(result, to);
    d1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(d1, d1.compare(NE, d1))
        .intoArray(result, to + COUNT);
    to += resultDistance;
    e0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(e0, e0.compare(NE, e0))
        .intoArray(result, to);
    e1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(e1, e1.compare(NE, e1))
        .intoArray(result, to + COUNT);
    to += resultDistance;
    f0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(f0, f0.compare(NE, f0))
        .intoArray(result, to);
    f1.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(f1, f1.compare(NE, f1))
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
      int addedDistance,
      float[] result,
      int resultAt,
      int resultDistance,
      int low,
      int high) {
    FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
    int from = addedAt + column;
    FloatVector a0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    from += addedDistance;
    FloatVector b0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    from += addedDistance;
    FloatVector c0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    from += addedDistance;
    FloatVector d0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    from += addedDistance;
    FloatVector e0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    from += addedDistance;
    FloatVector f0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    for (int k = 0; k < depth; k++) {
      FloatVector right0 = FloatVector.fromMemorySegment(FLOATS, right, panel + k * BYTES, NATIVE);
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      a0 = x.fma(right0, a0);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + DISTANCE]);
      b0 = x.fma(right0, b0);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 2 * DISTANCE]);
      c0 = x.fma(right0, c0);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 3 * DISTANCE]);
      d0 = x.fma(right0, d0);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 4 * DISTANCE]);
      e0 = x.fma(right0, e0);
      x = FloatVector.broadcast(FLOATS, left[leftAt + k + 5 * DISTANCE]);
      f0 = x.fma(right0, f0);
    }
    IntVector least = IntVector.broadcast(INTS, low);
    IntVector most = IntVector.broadcast(INTS, high);
    int to = resultAt + column;
    a0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(a0, a0.compare(NE, a0))
        .intoArray(result, to);
    to += resultDistance;
    b0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(b0, b0.compare(NE, b0))
        .intoArray(result, to);
    to += resultDistance;
    c0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(c0, c0.compare(NE, c0))
        .intoArray(result, to);
    to += resultDistance;
    d0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(d0, d0.compare(NE, d0))
        .intoArray(result, to);
    to += resultDistance;
    e0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(e0, e0.compare(NE, e0))
        .intoArray(result, to);
    to += resultDistance;
    f0.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(f0, f0.compare(NE, f0))
        .intoArray(result, to);
  }

  /** As {@link #wide}, for one row. */
  static void single(
      float[] left,
      int leftAt,
      MemorySegment right,
      long panel,
      int depth,
      float[] bias,
      int column,
      float[] added,
      int addedAt,
      int addedDistance,
      float[] result,
      int resultAt,
      int resultDistance,
      int low,
      int high) {
    FloatVector bias0 = FloatVector.fromArray(FLOATS, bias, column);
    FloatVector bias1 = FloatVector.fromArray(FLOATS, bias, column + COUNT);
    FloatVector bias2 = FloatVector.fromArray(FLOATS, bias, column + 2 * COUNT);
    FloatVector bias3 = FloatVector.fromArray(FLOATS, bias, column + 3 * COUNT);
    int from = addedAt + column;
    FloatVector a0 = FloatVector.fromArray(FLOATS, added, from).add(bias0);
    FloatVector a1 = FloatVector.fromArray(FLOATS, added, from + COUNT).add(bias1);
    FloatVector a2 = FloatVector.fromArray(FLOATS, added, from + 2 * COUNT).add(bias2);
    FloatVector a3 = FloatVector.fromArray(FLOATS, added, from + 3 * COUNT).add(bias3);
    for (int k = 0; k < depth; k++) {
      FloatVector right0 =
          FloatVector.fromMemorySegment(FLOATS, right, panel + k * 4 * BYTES, NATIVE);
      FloatVector right1 =
          FloatVector.fromMemorySegment(FLOATS, right, panel + k * 4 * BYTES + BYTES, NATIVE);
      FloatVector right2 =
          FloatVector.fromMemorySegment(FLOATS, right, panel + k * 4 * BYTES + 2 * BYTES, NATIVE);
      FloatVector right3 =
          FloatVector.fromMemorySegment(FLOATS, right, panel + k * 4 * BYTES + 3 * BYTES, NATIVE);
      FloatVector x = FloatVector.broadcast(FLOATS, left[leftAt + k]);
      a0 = x.fma(right0, a0);
      a1 = x.fma(right1, a1);
      a2 = x.fma(right2, a2);
      a3 = x.fma(right3, a3);
    }
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
    a2.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(a2, a2.compare(NE, a2))
        .intoArray(result, to + 2 * COUNT);
    a3.reinterpretAsInts()
        .max(least)
        .min(most)
        .reinterpretAsFloats()
        .blend(a3, a3.compare(NE, a3))
        .intoArray(result, to + 3 * COUNT);
  }
}
