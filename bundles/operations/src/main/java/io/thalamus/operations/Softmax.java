// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.FLOAT16;
import static io.thalamus.model.OperandCode.FLOAT32;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
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
    return List.of(new Probabilities(), new LogProbabilities());
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
   * How SOFTMAX reads stored scores. Results have scale 1/256 and the least stored value as zero
   * point.
   *
   * @param toExponent from a difference of two stored scores to the exponent, a fixed-point number
   *     of {@link #INTEGER_BITS}
   * @param leastDifference differences below have the probability 0
   */
  public record StoredScores(Requantization toExponent, int leastDifference) {
    /** Integer bits of the exponents. */
    public static final int INTEGER_BITS = 5;

    static StoredScores of(float beta, float scale) {
      double factor =
          Math.min((double) beta * scale * (1 << (31 - INTEGER_BITS)), (1L << 31) - 1.0);
      Requantization toExponent = Requantization.of(factor, Rounding.DOUBLE);
      return new StoredScores(
          toExponent, -FixedPointFunctions.radius(INTEGER_BITS, toExponent.shift()));
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

  private static final class Probabilities extends NamedDefinition {
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_0, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
            .andSince(V1_2, TENSOR_FLOAT16)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    Probabilities() {
      super(OperationCode.SOFTMAX);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = new Check(operation, V1_0).inputCount(2, 3).outputCount(1);
      OperandCode data = check.inputType(0, types());
      check.inputTypesFrom(1, data == TENSOR_FLOAT16 ? FLOAT16 : FLOAT32, INT32);
      check.outputType(0, data).inputRank(0, 1, 4);
      OperandView input = operation.input(0);
      boolean isRankOld =
          !input.isRankKnown() || input.shape().rank() == 2 || input.shape().rank() == 4;
      if (operation.inputs().size() == 3 || !isRankOld) {
        check.atLeast(V1_2);
      }
      if (!isFloat(input)) {
        check.quantization(Quantization.of(1f / 256, IntRange.of(data).min()));
      }
      return check.sameShape(input, operation.output()).level();
    }

    @Override
    public boolean isDefault(OperationView operation, int input) {
      return isLastAxis(operation, input);
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      parameters(operation);
      return List.of(operation.input(0).shape());
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      Parameters parameters = parameters(operation);
      if (!(parameters.beta() > 0)) {
        throw new ValidationException("beta must be positive, but is " + parameters.beta());
      }
      return parameters;
    }
  }

  private static final class LogProbabilities extends NamedDefinition {
    LogProbabilities() {
      super(OperationCode.LOG_SOFTMAX);
    }

    @Override
    public TypeLevels types() {
      return TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16);
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 3, 1);
      OperandCode data = check.inputType(0, types());
      check.inputTypesFrom(1, data == TENSOR_FLOAT16 ? FLOAT16 : FLOAT32, INT32);
      return check.outputType(0, data).sameShape(operation.input(0), operation.output()).level();
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      parameters(operation);
      return List.of(operation.input(0).shape());
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      return parameters(operation);
    }
  }
}
