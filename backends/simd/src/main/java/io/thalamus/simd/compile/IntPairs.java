// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;

/** Arithmetic on two tensors of 32-bit integers, which keep their low bits. */
public final class IntPairs extends PairRuns {
  private final Kind kind;

  /** The function; each has a loop of its own. */
  enum Kind {
    ADD,
    SUB,
    MUL,
    MAXIMUM,
    MINIMUM,
    SQUARED_DIFFERENCE,
    /** Rounded down; divided by 0 it is 0. */
    DIV,
    /** As {@link #DIV}, but there is no result if something is divided by 0. */
    FLOOR_DIV,
    BITWISE_XOR,
    RIGHT_SHIFT
  }

  IntPairs(Kind kind, Pairs pairs, Budget budget) {
    super(pairs, 1, budget);
    this.kind = kind;
  }

  @Override
  void apply(
      Frame frame,
      Scratch scratch,
      Object first,
      int firstAt,
      Object second,
      int secondAt,
      Object out,
      int to,
      int count) {
    int[] a = (int[]) first;
    int[] b = (int[]) second;
    int[] results = (int[]) out;
    if (kind == Kind.FLOOR_DIV && hasZero(b, secondAt, count)) {
      frame.fail("an integer is divided by zero");
      return;
    }
    apply(a, firstAt, b, secondAt, results, to, count);
  }

  private static boolean hasZero(int[] values, int from, int count) {
    for (int i = from; i < from + count; i++) {
      if (values[i] == 0) {
        return true;
      }
    }
    return false;
  }

  private void apply(int[] a, int firstAt, int[] b, int secondAt, int[] out, int to, int count) {
    switch (kind) {
      case ADD -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = a[firstAt + i] + b[secondAt + i];
        }
      }
      case SUB -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = a[firstAt + i] - b[secondAt + i];
        }
      }
      case MUL -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = a[firstAt + i] * b[secondAt + i];
        }
      }
      case MAXIMUM -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = Math.max(a[firstAt + i], b[secondAt + i]);
        }
      }
      case MINIMUM -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = Math.min(a[firstAt + i], b[secondAt + i]);
        }
      }
      case SQUARED_DIFFERENCE -> {
        for (int i = 0; i < count; i++) {
          int difference = a[firstAt + i] - b[secondAt + i];
          out[to + i] = difference * difference;
        }
      }
      case DIV, FLOOR_DIV -> {
        for (int i = 0; i < count; i++) {
          int divisor = b[secondAt + i];
          out[to + i] = divisor == 0 ? 0 : Math.floorDiv(a[firstAt + i], divisor);
        }
      }
      case BITWISE_XOR -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = a[firstAt + i] ^ b[secondAt + i];
        }
      }
      case RIGHT_SHIFT -> {
        for (int i = 0; i < count; i++) {
          out[to + i] = a[firstAt + i] >> Math.clamp(b[secondAt + i], 0, Integer.SIZE - 1);
        }
      }
    }
  }
}
