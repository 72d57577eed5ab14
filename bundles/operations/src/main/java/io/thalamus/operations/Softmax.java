// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.REAL;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.Requantization.Rounding;
import java.util.List;
import java.util.Optional;

/** Scores made into probabilities along one axis: SOFTMAX, LOG_SOFTMAX. */
public final class Softmax {
  private Softmax() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                OperationCode.SOFTMAX,
                Signature.since(V1_0)
                    .inputs(
                        data("input", TypeLevels.numbers(V1_0)).rank(1, 4),
                        argument("beta", REAL),
                        argument("axis", INT32).from(V1_2).orElse(-1))
                    .outputs(
                        argument("output", T)
                            .quantized(Quantization.of(1f / 256, 0))
                            .shapedAs("input")),
                Softmax::shapes,
                Softmax::softmaxParameters)
            .checkedBy(Softmax::checkSoftmax),
        new FunctionDefinition(
            OperationCode.LOG_SOFTMAX,
            Signature.since(V1_2)
                .inputs(
                    data("input", TypeLevels.floats(V1_2)),
                    argument("beta", REAL),
                    argument("axis", INT32))
                .outputs(argument("output", T).shapedAs("input")),
            Softmax::shapes,
            Softmax::parameters));
  }

  /**
   * The parameters of SOFTMAX, {@code exp(beta * (x - max)) / sum(exp(beta * (x - max)))}, and of
   * LOG_SOFTMAX, its logarithm.
   *
   * @param beta factor in front of the scores
   * @param axis along which the results sum up to 1; not negative
   * @param quantized how stored scores are read; empty for float types
   */
  public record Parameters(float beta, int axis, Optional<StoredScores> quantized)
      implements OperationParameters {}

  /**
   * The way SOFTMAX reads stored scores. Results have scale 1/256 and the least stored value as
   * zero point.
   *
   * @param toExponent from a difference of two stored scores to the exponent, a fixed-point number
   *     of {@link #INTEGER_BITS}
   * @param leastDifference differences below have the probability 0
   */
  public record StoredScores(Requantization toExponent, int leastDifference) {
    /** Integer bits of the exponents. */
    public static final int INTEGER_BITS = 5;

    /** Integer bits of sums of exponentials. */
    private static final int SUM_BITS = 12;

    /** Fraction bits of a probability. */
    private static final int RESULT_BITS = 8;

    static StoredScores of(float beta, float scale) {
      double factor =
          Math.min((double) beta * scale * (1 << (31 - INTEGER_BITS)), (1L << 31) - 1.0);
      Requantization toExponent = Requantization.of(factor, Rounding.DOUBLE);
      return new StoredScores(
          toExponent, -FixedPointFunctions.radius(INTEGER_BITS, toExponent.shift()));
    }

    /** Returns the exponential of a difference, which is not positive, with no integer bits. */
    public int exponential(int difference) {
      return difference < leastDifference
          ? 0
          : FixedPointFunctions.expOnNegative(toExponent.apply(difference), INTEGER_BITS);
    }

    /** Returns what an exponential adds to the sum of a line. */
    public static int term(int exponential) {
      return FixedPoint.roundingDivideByPowerOfTwo(exponential, SUM_BITS);
    }

    /** Returns 1 over the sum of a line, shifted so that it begins with its highest bit. */
    public static int reciprocal(long sum) {
      int headroom = Long.numberOfLeadingZeros(sum) - Integer.SIZE;
      return FixedPointFunctions.oneOverOnePlus((int) (sum << headroom) - Integer.MIN_VALUE);
    }

    /** Returns the bits that a product with the reciprocal of a sum has too many. */
    public static int shift(long sum) {
      return SUM_BITS + 2 * Integer.SIZE - 1 - RESULT_BITS - Long.numberOfLeadingZeros(sum);
    }

    /**
     * Returns a probability, counted from the least stored value; it may be 256.
     *
     * @param reciprocal of the sum
     * @param shift of the sum
     */
    public static int probability(int exponential, int reciprocal, int shift) {
      // Products are below 2^31: shifted by more bits than that, they round to 0.
      return shift >= Integer.SIZE
          ? 0
          : FixedPoint.roundingDivideByPowerOfTwo(
              FixedPoint.saturatingRoundingDoublingHighMul(reciprocal, exponential), shift);
    }
  }

  private static Parameters parameters(OperationView operation) throws ValidationException {
    OperandView input = operation.input(0);
    float beta = operation.input(1).float32();
    int axis = NamedDefinition.axis(operation.int32(2, -1), input.shape().rank());
    return new Parameters(
        beta,
        axis,
        input.scale() == 0 ? Optional.empty() : Optional.of(StoredScores.of(beta, input.scale())));
  }

  /** Ranks but 2 and 4 came with HAL 1.2. */
  private static void checkSoftmax(OperationView operation, Check check) {
    OperandView input = operation.input(0);
    if (input.isRankKnown() && input.shape().rank() % 2 == 1) {
      check.atLeast(V1_2);
    }
  }

  private static List<Shape> shapes(OperationView operation) throws ValidationException {
    parameters(operation);
    return List.of(operation.input(0).shape());
  }

  private static Parameters softmaxParameters(OperationView operation) throws ValidationException {
    Parameters parameters = parameters(operation);
    if (!(parameters.beta() > 0)) {
      throw new ValidationException("beta must be positive, but is " + parameters.beta());
    }
    return parameters;
  }
}
