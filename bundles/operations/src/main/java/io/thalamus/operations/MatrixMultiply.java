// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Requantization.Rounding;
import java.util.List;
import java.util.Optional;

/** Products of matrices: FULLY_CONNECTED. */
public final class MatrixMultiply {
  private MatrixMultiply() {}

  static List<OperationDefinition> definitions() {
    return List.of(new FullyConnected());
  }

  /**
   * The parameters of FULLY_CONNECTED: {@code output[batch, unit] = activation(bias[unit] +
   * sum(input[batch, i] * weights[unit, i]))}.
   *
   * @param batches rows of the input, seen as a matrix
   * @param inputSize columns of the input and of the weights
   * @param units rows of the weights
   * @param activation the range of real results
   * @param quantized how accumulators become stored results; empty for float types
   */
  public record Parameters(
      int batches,
      int inputSize,
      int units,
      FusedActivation activation,
      Optional<Accumulation> quantized)
      implements OperationParameters {}

  private static final class FullyConnected extends NamedDefinition {
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_0, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
            .andSince(V1_2, TENSOR_FLOAT16)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    FullyConnected() {
      super(OperationCode.FULLY_CONNECTED);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_0, 4, 1);
      OperandCode data = check.inputType(0, types());
      boolean isFloat = isFloat(operation.input(0));
      check.inputType(1, data).inputType(2, isFloat ? data : TENSOR_INT32).inputType(3, INT32);
      check.outputType(0, data).inputRank(0, 2, 4).inputRank(1, 2, 2).inputRank(2, 1, 1);
      if (!isFloat) {
        Accumulation.validate(operation, check);
      }
      OperandView weights = operation.input(1);
      OperandView bias = operation.input(2);
      if (weights.isShapeKnown() && bias.isShapeKnown()) {
        checkBias(weights.shape(), bias.shape());
      }
      if (operation.input(0).isShapeKnown() && weights.isShapeKnown()) {
        batches(operation);
      }
      return check.activation(3).level();
    }

    private static void checkBias(Shape weights, Shape bias) throws ValidationException {
      if (bias.dimension(0) != weights.dimension(0)) {
        throw new ValidationException("bias " + bias + " does not fit weights " + weights);
      }
    }

    private static int batches(OperationView operation) throws ValidationException {
      Shape input = operation.input(0).shape();
      Shape weights = operation.input(1).shape();
      int inputSize = weights.dimension(1);
      if (weights.dimension(0) == 0 || inputSize == 0) {
        throw new ValidationException("weights " + weights + " are empty");
      }
      if (input.elementCount() % inputSize != 0) {
        throw new ValidationException("input " + input + " does not fit weights " + weights);
      }
      return Math.toIntExact(input.elementCount() / inputSize);
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      Shape weights = operation.input(1).shape();
      checkBias(weights, operation.input(2).shape());
      return List.of(Shape.of(batches(operation), weights.dimension(0)));
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      Shape weights = operation.input(1).shape();
      FusedActivation activation = FusedActivation.ofCode(operation.input(3).int32());
      return new Parameters(
          batches(operation),
          weights.dimension(1),
          weights.dimension(0),
          activation,
          Accumulation.of(operation, weights.dimension(0), activation, Rounding.SINGLE));
    }
  }
}
