// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static jdk.incubator.vector.VectorOperators.GT;
import static jdk.incubator.vector.VectorOperators.LT;
import static jdk.incubator.vector.VectorOperators.NE;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

/**
 * Functions of single floats, a loop for each: a loop that is handed its function does not compile
 * to vectors.
 *
 * <p>Exponentials are computed here and not by {@link VectorOperators#EXP}, whose bits depend on
 * whether the loop is interpreted or compiled, and on the machine.
 */
public final class Functions {
  /** Below, the result would be no normal float. */
  private static final float LEAST = -87.33654f;

  /** Above, the result is infinite. */
  private static final float MOST = 88.72283f;

  private static final float LOG2_E = 1.44269504f;

  /** ln 2, its upper bits and the rest, so that a multiple of it is subtracted exactly. */
  private static final float LN2_HIGH = 0.693359375f;

  private static final float LN2_LOW = -2.12194440e-4f;

  /** Added and subtracted again, it rounds to the nearest integer. */
  private static final float ROUNDER = 12582912f;

  /** Floats of this magnitude and above have no fraction. */
  private static final float LEAST_WHOLE = 0x1p23f;

  /** Below this magnitude, (1 - e) / (1 + e) would cancel. */
  private static final float SMALL = 0.625f;

  /** The least argument for which erf is 1 in float. */
  private static final float LARGEST_ERF = 3.832506856900711f;

  private Functions() {}

  /** The function. */
  public enum Kind {
    CLAMP,
    LOGISTIC,
    TANH,
    HARD_SWISH,
    EXP,
    ERF,
    SQRT,
    RSQRT,
    ABS,
    NEG,
    FLOOR,
    LOG,
    SIN
  }

  /**
   * Applies a function to a range. Elements behind it may be read.
   *
   * @param clamp the bounds of {@link Kind#CLAMP}
   * @param spare receives what a whole vector writes behind the range
   */
  public static void apply(
      Kind kind, Clamp clamp, float[] in, int from, float[] out, int to, int count, float[] spare) {
    int whole = count / COUNT * COUNT;
    apply(kind, clamp, in, from, out, to, whole);
    if (whole < count) {
      apply(kind, clamp, in, from + whole, spare, 0, COUNT);
      System.arraycopy(spare, 0, out, to + whole, count - whole);
    }
  }

  private static void apply(
      Kind kind, Clamp clamp, float[] in, int from, float[] out, int to, int count) {
    switch (kind) {
      case CLAMP -> clamp(clamp, in, from, out, to, count);
      case LOGISTIC -> logistic(in, from, out, to, count);
      case TANH -> tanh(in, from, out, to, count);
      case HARD_SWISH -> hardSwish(in, from, out, to, count);
      case EXP -> exp(in, from, out, to, count);
      case ERF -> erf(in, from, out, to, count);
      case SQRT -> sqrt(in, from, out, to, count);
      case RSQRT -> rsqrt(in, from, out, to, count);
      case ABS -> abs(in, from, out, to, count);
      case NEG -> neg(in, from, out, to, count);
      case FLOOR -> floor(in, from, out, to, count);
      case LOG -> log(in, from, out, to, count);
      case SIN -> sin(in, from, out, to, count);
    }
  }

  private static void sqrt(float[] in, int from, float[] out, int to, int count) {
    for (int i = 0; i < count; i += COUNT) {
      FloatVector.fromArray(FLOATS, in, from + i).sqrt().intoArray(out, to + i);
    }
  }

  /** Two roundings, where 1 / sqrt in double has one but is no loop of vectors. */
  private static void rsqrt(float[] in, int from, float[] out, int to, int count) {
    FloatVector one = FloatVector.broadcast(FLOATS, 1f);
    for (int i = 0; i < count; i += COUNT) {
      one.div(FloatVector.fromArray(FLOATS, in, from + i).sqrt()).intoArray(out, to + i);
    }
  }

  private static void abs(float[] in, int from, float[] out, int to, int count) {
    for (int i = 0; i < count; i += COUNT) {
      FloatVector.fromArray(FLOATS, in, from + i).abs().intoArray(out, to + i);
    }
  }

  private static void neg(float[] in, int from, float[] out, int to, int count) {
    for (int i = 0; i < count; i += COUNT) {
      FloatVector.fromArray(FLOATS, in, from + i).neg().intoArray(out, to + i);
    }
  }

  private static void floor(float[] in, int from, float[] out, int to, int count) {
    for (int i = 0; i < count; i += COUNT) {
      FloatVector x = FloatVector.fromArray(FLOATS, in, from + i);
      FloatVector cut =
          (FloatVector) x.convert(VectorOperators.F2I, 0).convert(VectorOperators.I2F, 0);
      FloatVector floor = cut.blend(cut.sub(1f), cut.compare(GT, x));
      IntVector sign = x.reinterpretAsInts().and(Integer.MIN_VALUE);
      x.blend(
              floor.reinterpretAsInts().or(sign).reinterpretAsFloats(),
              x.abs().compare(LT, LEAST_WHOLE))
          .intoArray(out, to + i);
    }
  }

  private static void log(float[] in, int from, float[] out, int to, int count) {
    for (int i = 0; i < count; i++) {
      out[to + i] = (float) Math.log(in[from + i]);
    }
  }

  private static void sin(float[] in, int from, float[] out, int to, int count) {
    for (int i = 0; i < count; i++) {
      out[to + i] = (float) Math.sin(in[from + i]);
    }
  }

  private static void clamp(Clamp clamp, float[] in, int from, float[] out, int to, int count) {
    int low = clamp.low();
    int high = clamp.high();
    for (int i = 0; i < count; i += COUNT) {
      FloatVector x = FloatVector.fromArray(FLOATS, in, from + i);
      x.reinterpretAsInts()
          .max(low)
          .min(high)
          .reinterpretAsFloats()
          .blend(x, x.compare(NE, x))
          .intoArray(out, to + i);
    }
  }

  private static void logistic(float[] in, int from, float[] out, int to, int count) {
    FloatVector one = FloatVector.broadcast(FLOATS, 1f);
    for (int i = 0; i < count; i += COUNT) {
      FloatVector e = exp(FloatVector.fromArray(FLOATS, in, from + i).neg());
      one.div(e.add(1f)).intoArray(out, to + i);
    }
  }

  private static void tanh(float[] in, int from, float[] out, int to, int count) {
    for (int i = 0; i < count; i += COUNT) {
      FloatVector x = FloatVector.fromArray(FLOATS, in, from + i);
      FloatVector magnitude = x.abs();
      FloatVector e = exp(magnitude.mul(-2f));
      FloatVector large = FloatVector.broadcast(FLOATS, 1f).sub(e).div(e.add(1f));
      VectorMask<Float> isSmall = magnitude.lt(SMALL);
      // The sign of x, also where it is zero.
      IntVector sign = x.reinterpretAsInts().and(Integer.MIN_VALUE);
      large
          .blend(smallTanh(magnitude), isSmall)
          .reinterpretAsInts()
          .or(sign)
          .reinterpretAsFloats()
          .intoArray(out, to + i);
    }
  }

  /** The rational approximation of Cephes' tanhf. */
  private static FloatVector smallTanh(FloatVector x) {
    FloatVector square = x.mul(x);
    FloatVector sum = FloatVector.broadcast(FLOATS, -5.70498872745e-3f);
    sum = sum.fma(square, FloatVector.broadcast(FLOATS, 2.06390887954e-2f));
    sum = sum.fma(square, FloatVector.broadcast(FLOATS, -5.37397155531e-2f));
    sum = sum.fma(square, FloatVector.broadcast(FLOATS, 1.33314422036e-1f));
    sum = sum.fma(square, FloatVector.broadcast(FLOATS, -3.33332819422e-1f));
    return sum.mul(square).fma(x, x);
  }

  private static void hardSwish(float[] in, int from, float[] out, int to, int count) {
    int six = Float.floatToRawIntBits(6f);
    for (int i = 0; i < count; i += COUNT) {
      FloatVector x = FloatVector.fromArray(FLOATS, in, from + i);
      x.add(3f)
          .reinterpretAsInts()
          .max(0)
          .min(six)
          .reinterpretAsFloats()
          .mul(x)
          .div(6f)
          .intoArray(out, to + i);
    }
  }

  private static void exp(float[] in, int from, float[] out, int to, int count) {
    for (int i = 0; i < count; i += COUNT) {
      FloatVector x = FloatVector.fromArray(FLOATS, in, from + i);
      exp(x)
          .blend(Float.POSITIVE_INFINITY, x.compare(GT, MOST))
          .blend(0f, x.compare(LT, LEAST))
          .intoArray(out, to + i);
    }
  }

  /** The quotient of two polynomials in the square that Eigen has. */
  private static void erf(float[] in, int from, float[] out, int to, int count) {
    for (int i = 0; i < count; i += COUNT) {
      FloatVector x =
          FloatVector.fromArray(FLOATS, in, from + i).min(LARGEST_ERF).max(-LARGEST_ERF);
      FloatVector square = x.mul(x);
      FloatVector above = FloatVector.broadcast(FLOATS, 0.00022905065861350646f);
      above = above.fma(square, FloatVector.broadcast(FLOATS, 0.0034082910107109506f));
      above = above.fma(square, FloatVector.broadcast(FLOATS, 0.050955695062380861f));
      above = above.fma(square, FloatVector.broadcast(FLOATS, 0.18520832239976145f));
      above = above.fma(square, FloatVector.broadcast(FLOATS, 1.128379143519084f));
      FloatVector below = FloatVector.broadcast(FLOATS, -1.1791602954361697e-7f);
      below = below.fma(square, FloatVector.broadcast(FLOATS, 0.000023547966471313185f));
      below = below.fma(square, FloatVector.broadcast(FLOATS, 0.0010179625278914885f));
      below = below.fma(square, FloatVector.broadcast(FLOATS, 0.014070470171167667f));
      below = below.fma(square, FloatVector.broadcast(FLOATS, 0.11098505178285362f));
      below = below.fma(square, FloatVector.broadcast(FLOATS, 0.49746925110067538f));
      below = below.fma(square, FloatVector.broadcast(FLOATS, 1f));
      x.mul(above).div(below).intoArray(out, to + i);
    }
  }

  /** {@code e^x} to two units in the last place; the polynomial of Cephes' expf. */
  public static FloatVector exp(FloatVector argument) {
    FloatVector x = argument.min(MOST).max(LEAST);
    FloatVector multiple = x.mul(LOG2_E).add(ROUNDER).sub(ROUNDER);
    FloatVector rest =
        multiple.fma(
            FloatVector.broadcast(FLOATS, -LN2_LOW),
            multiple.fma(FloatVector.broadcast(FLOATS, -LN2_HIGH), x));
    FloatVector sum = FloatVector.broadcast(FLOATS, 1.9875691500e-4f);
    sum = sum.fma(rest, FloatVector.broadcast(FLOATS, 1.3981999507e-3f));
    sum = sum.fma(rest, FloatVector.broadcast(FLOATS, 8.3334519073e-3f));
    sum = sum.fma(rest, FloatVector.broadcast(FLOATS, 4.1665795894e-2f));
    sum = sum.fma(rest, FloatVector.broadcast(FLOATS, 1.6666665459e-1f));
    sum = sum.fma(rest, FloatVector.broadcast(FLOATS, 5.0000001201e-1f));
    FloatVector result = sum.mul(rest).fma(rest, rest.add(1f));
    IntVector exponent =
        ((IntVector) multiple.convert(VectorOperators.F2I, 0)).lanewise(VectorOperators.LSHL, 23);
    return result.reinterpretAsInts().add(exponent).reinterpretAsFloats();
  }
}
