// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.util.Random;
import java.util.function.DoubleUnaryOperator;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;

/** Fixed-point functions against the functions of float64. */
class FixedPointFunctionsTest {
  private static final double UNIT = Math.scalb(1.0, -31);

  private static void compare(
      String name,
      int integerBits,
      int from,
      int to,
      IntUnaryOperator fixed,
      DoubleUnaryOperator real,
      double tolerance) {
    long seed = 21;
    System.out.println(name + ": seed " + seed);
    Random random = new Random(seed);
    for (int i = 0; i < 100_000; i++) {
      int a = i == 0 ? from : i == 1 ? to : (int) random.nextLong(from, to + 1L);
      double argument = a * Math.scalb(UNIT, integerBits);
      double result = fixed.applyAsInt(a) * UNIT;
      double expected = real.applyAsDouble(argument);
      assertTrue(
          Math.abs(result - expected) <= tolerance,
          () -> name + "(" + argument + ") = " + result + ", not " + expected);
    }
  }

  @Test
  void exponential() {
    for (int integerBits = 0; integerBits <= 5; integerBits++) {
      int bits = integerBits;
      compare(
          "exp with " + integerBits + " integer bits",
          integerBits,
          Integer.MIN_VALUE,
          0,
          a -> FixedPointFunctions.expOnNegative(a, bits),
          Math::exp,
          1e-6);
    }
  }

  @Test
  void reciprocal() {
    compare(
        "1 / (1 + a)",
        0,
        0,
        Integer.MAX_VALUE,
        FixedPointFunctions::oneOverOnePlus,
        a -> 1 / (1 + a),
        1e-8);
  }

  @Test
  void logistic() {
    compare(
        "logistic",
        4,
        Integer.MIN_VALUE + 1,
        Integer.MAX_VALUE,
        FixedPointFunctions::logistic,
        a -> 1 / (1 + Math.exp(-a)),
        1e-6);
    assertEquals(1 << 30, FixedPointFunctions.logistic(0));
  }

  @Test
  void tanh() {
    compare(
        "tanh",
        4,
        Integer.MIN_VALUE + 1,
        Integer.MAX_VALUE,
        FixedPointFunctions::tanh,
        Math::tanh,
        1e-6);
    assertEquals(0, FixedPointFunctions.tanh(0));
  }

  @Test
  void inverseSquareRoot() {
    long seed = 22;
    System.out.println("inverse square root: seed " + seed);
    Random random = new Random(seed);
    for (int i = 0; i < 100_000; i++) {
      int value =
          i < 100 ? i + 2 : 2 + (random.nextInt(Integer.MAX_VALUE - 2) >> random.nextInt(30));
      Requantization root = FixedPointFunctions.inverseSquareRoot(value);
      double result = root.multiplier() * Math.scalb(UNIT, root.shift());
      double expected = 1 / Math.sqrt(value);
      // Five of Newton's steps from 1 end this far from 2 at worst.
      assertEquals(expected, result, expected * 2e-6, () -> "of " + value);
    }
    assertEquals(Integer.MAX_VALUE, FixedPointFunctions.inverseSquareRoot(0).multiplier());
    assertEquals(Integer.MAX_VALUE, FixedPointFunctions.inverseSquareRoot(1).multiplier());
  }

  @Test
  void radiusIsTheLargestDifferenceThatFits() {
    for (int integerBits = 1; integerBits <= 5; integerBits++) {
      for (int shift = 0; shift <= 31; shift++) {
        int radius = FixedPointFunctions.radius(integerBits, shift);
        double limit = ((1 << integerBits) - 1) * Math.scalb(1.0, 31 - integerBits);
        assertTrue(Math.scalb((double) radius, shift) <= limit);
        assertTrue(Math.scalb(radius + 1.0, shift) > limit);
      }
    }
  }

  @Test
  void hardSwishIsWithinOneStep() throws ValidationException {
    long seed = 23;
    System.out.println("hard swish: seed " + seed);
    Random random = new Random(seed);
    for (int i = 0; i < 300; i++) {
      boolean isSigned = random.nextBoolean();
      OperandCode type =
          isSigned ? OperandCode.TENSOR_QUANT8_ASYMM_SIGNED : OperandCode.TENSOR_QUANT8_ASYMM;
      IntRange range = IntRange.of(type);
      float inScale = (float) Math.scalb(1 + random.nextDouble(), -1 - random.nextInt(8));
      // Finer results than inputs by more than 64 are refused, see below.
      float outScale =
          (float) (inScale * Math.scalb(1 + random.nextDouble(), random.nextInt(7) - 4));
      OperandView in = operand(type, inScale, random.nextInt(256) + range.min());
      OperandView out = operand(type, outScale, random.nextInt(256) + range.min());
      QuantizedHardSwish function = QuantizedHardSwish.of(in, out);
      for (int stored = range.min(); stored <= range.max(); stored++) {
        double x = (stored - in.zeroPoint()) * (double) inScale;
        double result = x * Math.clamp(x + 3, 0, 6) / 6;
        int expected = range.clamp(FixedPoint.round(result / outScale + out.zeroPoint()));
        int actual = function.apply(stored);
        int value = stored;
        // 16 bits of arithmetic: where the output is finer than the input, errors are multiplied.
        double tolerance = 1 + inScale / outScale / 128;
        assertTrue(
            Math.abs(expected - actual) <= tolerance,
            () -> in + " " + out + " " + value + ": " + actual + ", not " + expected);
      }
    }
  }

  private static OperandView operand(OperandCode type, float scale, int zeroPoint) {
    return OperandView.of(
        new Operand(
            type, Shape.of(1), Quantization.of(scale, zeroPoint), Lifetime.TEMPORARY_VARIABLE, ""));
  }
}
