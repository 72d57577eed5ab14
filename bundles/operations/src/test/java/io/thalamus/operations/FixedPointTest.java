// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.operations.Requantization.Rounding;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Integer arithmetic against exact arithmetic without bounds. */
class FixedPointTest {
  private static final BigDecimal TWO = BigDecimal.valueOf(2);

  private static List<Integer> awkward(long seed, int more) {
    List<Integer> values =
        new ArrayList<>(
            List.of(
                0,
                1,
                -1,
                2,
                -2,
                3,
                -3,
                1 << 30,
                -(1 << 30),
                (1 << 30) + 1,
                Integer.MAX_VALUE,
                Integer.MIN_VALUE,
                Integer.MIN_VALUE + 1,
                Integer.MAX_VALUE - 1));
    Random random = new Random(seed);
    for (int i = 0; i < more; i++) {
      values.add(random.nextInt() >> random.nextInt(31));
    }
    return values;
  }

  private static BigDecimal exact(long value) {
    return BigDecimal.valueOf(value);
  }

  /** Rounded to nearest, ties up. */
  private static BigInteger tiesUp(BigDecimal value) {
    return value.add(new BigDecimal("0.5")).setScale(0, RoundingMode.FLOOR).toBigInteger();
  }

  /** Rounded to nearest, ties away from zero. */
  private static BigInteger tiesAway(BigDecimal value) {
    return value.setScale(0, RoundingMode.HALF_UP).toBigInteger();
  }

  @Test
  void highMultiplicationRoundsTiesUpAndSaturates() {
    long seed = 11;
    System.out.println("high multiplication: seed " + seed);
    for (int a : awkward(seed, 300)) {
      for (int b : awkward(seed + 1, 300)) {
        BigInteger product =
            tiesUp(exact(a).multiply(exact(b)).divide(TWO.pow(31)))
                .min(BigInteger.valueOf(Integer.MAX_VALUE));
        assertEquals(
            product.intValueExact(),
            FixedPoint.saturatingRoundingDoublingHighMul(a, b),
            () -> a + " times " + b);
      }
    }
  }

  @Test
  void divisionByPowersOfTwoRoundsTiesAwayFromZero() {
    long seed = 12;
    System.out.println("division by powers of two: seed " + seed);
    for (int value : awkward(seed, 1000)) {
      for (int exponent = 0; exponent <= 31; exponent++) {
        int by = exponent;
        assertEquals(
            tiesAway(exact(value).divide(TWO.pow(exponent))).intValueExact(),
            FixedPoint.roundingDivideByPowerOfTwo(value, exponent),
            () -> value + " by 2^" + by);
      }
    }
  }

  @Test
  void roundsAsC() {
    long seed = 13;
    System.out.println("round: seed " + seed);
    Random random = new Random(seed);
    List<Double> values =
        new ArrayList<>(
            List.of(
                0.5,
                -0.5,
                1.5,
                -1.5,
                2.5,
                0.49999999999999994,
                -0.49999999999999994,
                4503599627370497.5,
                -0.0,
                (double) Integer.MAX_VALUE,
                (double) Integer.MIN_VALUE,
                1e300,
                -1e300));
    for (int i = 0; i < 10_000; i++) {
      values.add((random.nextDouble() - 0.5) * Math.scalb(1.0, random.nextInt(34)));
      values.add(random.nextInt(10_000) / 2.0);
    }
    for (double value : values) {
      BigInteger rounded =
          tiesAway(new BigDecimal(value))
              .min(BigInteger.valueOf(Integer.MAX_VALUE))
              .max(BigInteger.valueOf(Integer.MIN_VALUE));
      assertEquals(rounded.intValueExact(), FixedPoint.round(value), () -> "round " + value);
    }
  }

  @Test
  void factorsKeepThirtyOneBits() {
    long seed = 14;
    System.out.println("factors: seed " + seed);
    Random random = new Random(seed);
    List<Double> factors =
        new ArrayList<>(
            List.of(
                1.0,
                0.5,
                Math.nextDown(1.0),
                Math.nextDown(0.5),
                Math.scalb(1.0, -31),
                Math.scalb(1.0, -32),
                Math.scalb(1.0, 30),
                1.0 / 3));
    for (int i = 0; i < 10_000; i++) {
      factors.add((1 + random.nextDouble()) * Math.scalb(1.0, random.nextInt(61) - 31));
    }
    for (double factor : factors) {
      Requantization parts = Requantization.of(factor, Rounding.SINGLE);
      assertTrue(parts.multiplier() >= 1 << 30, () -> "mantissa of " + factor);
      BigDecimal unit = power(parts.shift() - 31);
      BigDecimal kept = exact(parts.multiplier()).multiply(unit);
      BigDecimal error = kept.subtract(new BigDecimal(factor)).abs();
      assertTrue(error.compareTo(unit.divide(TWO)) <= 0, () -> factor + " is kept as " + kept);
    }
    assertEquals(0, Requantization.of(0, Rounding.DOUBLE).multiplier());
    assertEquals(0, Requantization.of(Math.scalb(1.0, -34), Rounding.DOUBLE).multiplier());
    assertEquals(0, Requantization.of(Double.MIN_VALUE, Rounding.DOUBLE).multiplier());
  }

  private static BigDecimal power(int exponent) {
    return exponent >= 0 ? TWO.pow(exponent) : BigDecimal.ONE.divide(TWO.pow(-exponent));
  }

  @Test
  void productsAreRoundedOnceOrTwice() {
    long seed = 15;
    System.out.println("products: seed " + seed);
    Random random = new Random(seed);
    int different = 0;
    for (int i = 0; i < 200_000; i++) {
      double factor = (1 + random.nextDouble()) * Math.scalb(1.0, random.nextInt(36) - 31);
      int bound = (int) Math.min(Integer.MAX_VALUE, Math.scalb(1.0, 30) / Math.max(1, factor));
      int value = (random.nextInt() >> random.nextInt(31)) % bound;
      Requantization once = Requantization.of(factor, Rounding.SINGLE);
      Requantization twice = Requantization.of(factor, Rounding.DOUBLE);
      BigDecimal kept = exact(once.multiplier()).multiply(power(once.shift() - 31));
      BigDecimal product = kept.multiply(exact(value));
      assertEquals(tiesUp(product).intValueExact(), once.apply(value), value + " by " + factor);

      int left = Math.max(0, twice.shift());
      int right = Math.max(0, -twice.shift());
      BigInteger high =
          tiesUp(
              exact((long) value << left).multiply(exact(twice.multiplier())).divide(TWO.pow(31)));
      int expected = tiesAway(new BigDecimal(high).divide(TWO.pow(right))).intValueExact();
      assertEquals(expected, twice.apply(value), value + " by " + factor);
      Requantization even = Requantization.of(factor, Rounding.EVEN);
      assertEquals((float) factor, even.factor());
      float real =
          new BigDecimal((float) factor).multiply(new BigDecimal((float) value)).floatValue();
      int nearest = new BigDecimal(real).setScale(0, RoundingMode.HALF_EVEN).intValueExact();
      int most = (int) Requantization.LARGEST;
      assertEquals(Math.clamp(nearest, -most, most), even.apply(value), value + " by " + factor);

      different += once.apply(value) == twice.apply(value) ? 0 : 1;
      assertTrue(Math.abs(once.apply(value) - twice.apply(value)) <= 1);
    }
    assertTrue(different > 0, "the two ways of rounding are told apart");
  }

  @Test
  void tiesOfFloatsGoToTheEvenOne() {
    Requantization half = Requantization.of(0.5, Rounding.EVEN);
    int[] values = {-5, -3, -1, 1, 3, 5, 7, Integer.MAX_VALUE};
    int[] expected = {-2, -2, 0, 0, 2, 2, 4, (int) Requantization.LARGEST};
    for (int i = 0; i < values.length; i++) {
      assertEquals(expected[i], half.apply(values[i]), "half of " + values[i]);
    }
    assertEquals(0, Requantization.of(0, Rounding.EVEN).apply(1000));
  }

  @Test
  void negatedFactorsAreThoseOfTheOppositeValue() {
    Requantization factor = Requantization.of(0.3, Rounding.DOUBLE);
    for (int value : List.of(0, 1, -1, 10, -10, 12345, -98765)) {
      assertEquals(factor.apply(-value), factor.negated().apply(value));
    }
  }
}
