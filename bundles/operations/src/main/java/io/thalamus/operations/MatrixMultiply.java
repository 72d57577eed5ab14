// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.Argument.fusedActivation;
import static io.thalamus.operations.ArgumentType.BIAS;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.NamedDefinition.isFloat;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.operations.Requantization.Rounding;
import java.util.List;
import java.util.Optional;

/** Products of matrices: FULLY_CONNECTED. */
public final class MatrixMultiply {
  private MatrixMultiply() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        fullyConnected(
            OperationCode.FULLY_CONNECTED, V1_0, TypeLevels.numbers(V1_0), Rounding.SINGLE));
  }

  /** The same of 8-bit integers, rounded as ONNX Runtime does. */
  public static OperationDefinition even(OperationType type) {
    return fullyConnected(type, V1_2, TypeLevels.quantized8(), Rounding.EVEN);
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

  private static OperationDefinition fullyConnected(
      OperationType type, FeatureLevel since, TypeLevels types, Rounding rounding) {
    return new FunctionDefinition(
            type,
            Signature.since(since)
                .inputs(
                    data("input", types).rank(2, 4),
                    argument("weights", T).rank(2),
                    argument("bias", BIAS).rank(1),
                    fusedActivation())
                .outputs(argument("output", T)),
            MatrixMultiply::shapes,
            operation -> parameters(operation, rounding))
        .checkedBy(MatrixMultiply::check)
        .countedBy(
            operation -> Macs.product(Macs.output(operation), Macs.dimensions(operation, 1, 1, 1)));
  }

  private static void check(OperationView operation, Check check) throws ValidationException {
    if (!isFloat(operation.input(0))) {
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

  private static List<Shape> shapes(OperationView operation) throws ValidationException {
    Shape weights = operation.input(1).shape();
    checkBias(weights, operation.input(2).shape());
    return List.of(Shape.of(batches(operation), weights.dimension(0)));
  }

  private static Parameters parameters(OperationView operation, Rounding rounding)
      throws ValidationException {
    Shape weights = operation.input(1).shape();
    FusedActivation activation = FusedActivation.ofCode(operation.input(3).int32());
    return new Parameters(
        batches(operation),
        weights.dimension(1),
        weights.dimension(0),
        activation,
        Accumulation.of(operation, weights.dimension(0), activation, rounding));
  }
}
