// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ToleranceTest {
  @Test
  void floatsAreRelativeAndIntegersAStepApart() {
    Tolerance whole = Tolerance.of(OperandCode.TENSOR_FLOAT32, false);
    assertTrue(whole.accepts(1000, 1000.0005));
    assertFalse(whole.accepts(1000, 1000.001));
    assertTrue(whole.accepts(0, -1e-5));
    assertTrue(Tolerance.of(OperandCode.TENSOR_FLOAT32, true).accepts(1000, 1004));
    assertTrue(Tolerance.of(OperandCode.TENSOR_FLOAT16, false).accepts(1000, 1004));
    assertFalse(Tolerance.of(OperandCode.TENSOR_FLOAT16, false).accepts(1000, 1005));
    Tolerance step = Tolerance.of(OperandCode.TENSOR_QUANT8_ASYMM, true);
    assertTrue(step.accepts(7, 8) && step.accepts(7, 6));
    assertFalse(step.accepts(7, 9));
    assertEquals(Tolerance.EXACT, Tolerance.of(OperandCode.TENSOR_BOOL8, true));
    assertTrue(Tolerance.EXACT.accepts(0.0, -0.0));
  }

  @Test
  void whatIsNotFiniteIsMetExactly() {
    Tolerance wide = new Tolerance(1, Double.MAX_VALUE);
    for (double expected :
        List.of(Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY)) {
      assertTrue(wide.accepts(expected, expected));
      assertFalse(wide.accepts(expected, 0));
      assertFalse(wide.accepts(0, expected));
    }
    assertFalse(wide.accepts(Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY));
  }
}
