// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static jdk.incubator.vector.VectorOperators.NE;

import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;

/**
 * Arithmetic on two float tensors, clamped; the larger or the smaller of two. Immutable and
 * thread-safe.
 */
public final class FloatPairs implements Step {
  private final Kind kind;
  private final Pairs pairs;
  private final Clamp clamp;
  private final int tiles;

  /** The function; each has a loop of its own. */
  enum Kind {
    ADD(false),
    SUB(false),
    MUL(false),
    DIV(true),
    MAXIMUM(true),
    MINIMUM(true);

    /** Whether its loop is a plain one, with and without vectors. */
    private final boolean isPlain;

    Kind(boolean isPlain) {
      this.isPlain = isPlain;
    }
  }

  FloatPairs(Kind kind, Pairs pairs, Clamp clamp, int tiles) {
    this.kind = kind;
    this.pairs = pairs;
    this.clamp = clamp;
    this.tiles = tiles;
  }

  @Override
  public int tiles() {
    return tiles;
  }

  @Override
  public void run(Frame frame, Scratch scratch, int tile) {
    int from = (int) ((long) pairs.count() * tile / tiles);
    int end = (int) ((long) pairs.count() * (tile + 1) / tiles);
    float[] out = frame.floats(pairs.output());
    for (int run = from; run < end; run++) {
      float[] first = frame.floats(pairs.left());
      float[] second = frame.floats(pairs.right());
      int firstAt = pairs.first()[run];
      int secondAt = pairs.second()[run];
      int count = pairs.lengths()[run];
      if (pairs.isFirstRepeated()) {
        Arrays.fill(scratch.repeatedFloats, 0, count, first[firstAt]);
        first = scratch.repeatedFloats;
        firstAt = 0;
      } else if (pairs.isSecondRepeated()) {
        Arrays.fill(scratch.repeatedFloats, 0, count, second[secondAt]);
        second = scratch.repeatedFloats;
        secondAt = 0;
      }
      int whole = count / COUNT * COUNT;
      int to = pairs.result()[run];
      if (kind.isPlain) {
        plain(first, firstAt, second, secondAt, out, to, count);
        continue;
      }
      if (frame.isScalar) {
        scalar(first, firstAt, second, secondAt, out, to, count);
        continue;
      }
      apply(first, firstAt, second, secondAt, out, to, whole);
      if (whole < count) {
        apply(first, firstAt + whole, second, secondAt + whole, scratch.spareFloats, 0, COUNT);
        System.arraycopy(scratch.spareFloats, 0, out, to + whole, count - whole);
      }
    }
  }

  private void scalar(
      float[] first, int firstAt, float[] second, int secondAt, float[] out, int to, int count) {
    for (int i = 0; i < count; i++) {
      float x = first[firstAt + i];
      float y = second[secondAt + i];
      float result =
          switch (kind) {
            case ADD -> x + y;
            case SUB -> x - y;
            case MUL -> x * y;
            case DIV, MAXIMUM, MINIMUM -> throw new IllegalStateException();
          };
      out[to + i] = clamp.apply(result);
    }
  }

  private void apply(
      float[] first, int firstAt, float[] second, int secondAt, float[] out, int to, int count) {
    switch (kind) {
      case ADD -> add(first, firstAt, second, secondAt, out, to, count);
      case SUB -> subtract(first, firstAt, second, secondAt, out, to, count);
      case MUL -> multiply(first, firstAt, second, secondAt, out, to, count);
      case DIV, MAXIMUM, MINIMUM -> throw new IllegalStateException();
    }
  }

  /** By loops that the JVM makes vectors of, and that are quick before it does. */
  private void plain(
      float[] first, int firstAt, float[] second, int secondAt, float[] out, int to, int count) {
    switch (kind) {
      case DIV -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = first[firstAt + i] / second[secondAt + i];
        }
      }
      case MAXIMUM -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = Math.max(first[firstAt + i], second[secondAt + i]);
        }
      }
      case MINIMUM -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = Math.min(first[firstAt + i], second[secondAt + i]);
        }
      }
      case ADD, SUB, MUL -> throw new IllegalStateException();
    }
    if (clamp != Clamp.NONE) {
      for (int i = to; i < to + count; i++) {
        out[i] = clamp.apply(out[i]);
      }
    }
  }

  private void add(
      float[] first, int firstAt, float[] second, int secondAt, float[] out, int to, int count) {
    int low = clamp.low();
    int high = clamp.high();
    for (int i = 0; i < count; i += COUNT) {
      FloatVector result =
          FloatVector.fromArray(FLOATS, first, firstAt + i)
              .add(FloatVector.fromArray(FLOATS, second, secondAt + i));
      result
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(result, result.compare(NE, result))
          .intoArray(out, to + i);
    }
  }

  private void subtract(
      float[] first, int firstAt, float[] second, int secondAt, float[] out, int to, int count) {
    int low = clamp.low();
    int high = clamp.high();
    for (int i = 0; i < count; i += COUNT) {
      FloatVector result =
          FloatVector.fromArray(FLOATS, first, firstAt + i)
              .sub(FloatVector.fromArray(FLOATS, second, secondAt + i));
      result
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(result, result.compare(NE, result))
          .intoArray(out, to + i);
    }
  }

  private void multiply(
      float[] first, int firstAt, float[] second, int secondAt, float[] out, int to, int count) {
    int low = clamp.low();
    int high = clamp.high();
    for (int i = 0; i < count; i += COUNT) {
      FloatVector result =
          FloatVector.fromArray(FLOATS, first, firstAt + i)
              .mul(FloatVector.fromArray(FLOATS, second, secondAt + i));
      result
          .reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(result, result.compare(NE, result))
          .intoArray(out, to + i);
    }
  }
}
