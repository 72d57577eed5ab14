// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Fixed-point functions beside those in double, over all arguments. */
class FixedPoint16Test {
  /** As far as gemmlowp's polynomials and three steps of Newton's are off, in units of 2^-15. */
  private static final double MOST_ERROR = 14;

  @Test
  void logisticIsNearAndAscends() {
    for (int bits = 0; bits <= 6; bits++) {
      int last = Integer.MIN_VALUE;
      for (int raw = Short.MIN_VALUE; raw <= Short.MAX_VALUE; raw++) {
        double argument = raw * Math.scalb(1.0, bits - 15);
        int result = FixedPoint16.logistic(raw, bits);
        near(1 / (1 + Math.exp(-argument)), result, "logistic of " + argument);
        assertTrue(result >= last - MOST_ERROR, "logistic falls at " + argument);
        last = result;
      }
    }
  }

  @Test
  void tanhIsNearAndOdd() {
    for (int bits = 0; bits <= 6; bits++) {
      for (int raw = Short.MIN_VALUE; raw <= Short.MAX_VALUE; raw++) {
        double argument = raw * Math.scalb(1.0, bits - 15);
        near(Math.tanh(argument), FixedPoint16.tanh(raw, bits), "tanh of " + argument);
        if (raw > Short.MIN_VALUE) {
          assertEquals(FixedPoint16.tanh(raw, bits), -FixedPoint16.tanh(-raw, bits));
        }
      }
    }
  }

  @Test
  void tablesHaveTheValuesOfAllShorts() {
    for (int bits : new int[] {0, 3, 6}) {
      short[] logistics = FixedPoint16.logistics(bits);
      short[] tanhs = FixedPoint16.tanhs(bits);
      assertEquals(1 << 16, logistics.length);
      for (int raw = Short.MIN_VALUE; raw <= Short.MAX_VALUE; raw++) {
        assertEquals(FixedPoint16.logistic(raw, bits), logistics[raw & 0xFFFF], "at " + raw);
        assertEquals(FixedPoint16.tanh(raw, bits), tanhs[raw & 0xFFFF], "at " + raw);
      }
    }
  }

  private static void near(double expected, int actual, String what) {
    double error = Math.abs(actual - expected * (1 << 15));
    assertTrue(error <= MOST_ERROR, () -> what + " is off by " + error);
    assertTrue(actual >= Short.MIN_VALUE && actual <= Short.MAX_VALUE, what);
  }

  @Test
  void productsAreRoundedAndSaturated() {
    assertEquals(Short.MAX_VALUE, FixedPoint16.multiply(Short.MIN_VALUE, Short.MIN_VALUE));
    assertEquals(1, FixedPoint16.multiply(1, 1 << 14));
    assertEquals(0, FixedPoint16.multiply(1, (1 << 14) - 1));
    assertEquals(0, FixedPoint16.multiply(-1, 1 << 14));
    assertEquals(-1, FixedPoint16.multiply(-1, (1 << 14) + 1));
    assertEquals(Short.MAX_VALUE, FixedPoint16.multiplyByPowerOfTwo(1 << 13, 2));
    assertEquals(Short.MIN_VALUE, FixedPoint16.multiplyByPowerOfTwo(-(1 << 14), 2));
    assertEquals(-2, FixedPoint16.multiplyByPowerOfTwo(-3, -1));
  }
}
