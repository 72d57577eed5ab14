// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static jdk.incubator.vector.VectorOperators.LT;
import static jdk.incubator.vector.VectorOperators.NE;

import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import jdk.incubator.vector.FloatVector;

/**
 * Arithmetic on two float tensors, clamped; the larger or the smaller of two. Immutable and
 * thread-safe.
 */
public final class FloatPairs extends PairRuns {
  private final Kind kind;
  private final Clamp clamp;

  /** The function; each has a loop of its own. */
  enum Kind {
    ADD(false),
    SUB(false),
    MUL(false),
    DIV(true),
    MAXIMUM(true),
    MINIMUM(true),
    SQUARED_DIFFERENCE(true),
    FLOOR_DIV(true),
    POW(true),
    /** The second, which is 2, is not read. */
    SQUARE(true),
    /** The second, which is 3, is not read. */
    CUBE(true),
    /** The second is the slope where the first is negative. */
    PRELU(false);

    /** Whether its loop is a plain one, with and without vectors. */
    private final boolean isPlain;

    Kind(boolean isPlain) {
      this.isPlain = isPlain;
    }
  }

  FloatPairs(Kind kind, Pairs pairs, Clamp clamp, Budget budget) {
    super(pairs, 1, budget);
    this.kind = kind;
    this.clamp = clamp;
  }

  @Override
  void apply(
      Frame frame,
      Scratch scratch,
      Object left,
      int firstAt,
      Object right,
      int secondAt,
      Object results,
      int to,
      int count) {
    float[] first = (float[]) left;
    float[] second = (float[]) right;
    float[] out = (float[]) results;
    int whole = count / COUNT * COUNT;
    if (kind.isPlain) {
      plain(first, firstAt, second, secondAt, out, to, count);
    } else if (frame.isScalar) {
      scalar(first, firstAt, second, secondAt, out, to, count);
    } else {
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
            case PRELU -> x < 0 ? x * y : x;
            default -> throw new IllegalStateException();
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
      case PRELU -> bend(first, firstAt, second, secondAt, out, to, count);
      default -> throw new IllegalStateException();
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
      case SQUARED_DIFFERENCE -> {
        for (int i = 0; i < count; i++) {
          float difference = first[firstAt + i] - second[secondAt + i];
          out[to + i] = difference * difference;
        }
      }
      case FLOOR_DIV -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = (float) Math.floor(first[firstAt + i] / second[secondAt + i]);
        }
      }
      case POW -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = (float) Math.pow(first[firstAt + i], second[secondAt + i]);
        }
      }
      case SQUARE -> {
        for (int i = 0; i < count; i++) {
          float x = first[firstAt + i];
          out[to + i] = x * x;
        }
      }
      case CUBE -> {
        for (int i = 0; i < count; i++) {
          float x = first[firstAt + i];
          out[to + i] = x * x * x;
        }
      }
      case ADD, SUB, MUL, PRELU -> throw new IllegalStateException();
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

  private void bend(
      float[] first, int firstAt, float[] second, int secondAt, float[] out, int to, int count) {
    int low = clamp.low();
    int high = clamp.high();
    for (int i = 0; i < count; i += COUNT) {
      FloatVector x = FloatVector.fromArray(FLOATS, first, firstAt + i);
      FloatVector below = x.mul(FloatVector.fromArray(FLOATS, second, secondAt + i));
      FloatVector result = x.blend(below, x.compare(LT, 0));
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
