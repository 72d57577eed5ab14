// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.REAL;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.FunctionDefinition.Step;
import java.util.List;

/**
 * Values divided by a measure of their neighbours: L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION,
 * INSTANCE_NORMALIZATION.
 */
public final class Normalization {
  private Normalization() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                OperationCode.L2_NORMALIZATION,
                Signature.since(V1_0)
                    .inputs(
                        data("input", TypeLevels.numbers(V1_0).andSince(V1_2, TENSOR_QUANT8_ASYMM))
                            .rank(1, 4),
                        argument("axis", INT32).from(V1_2).orElse(-1))
                    .outputs(
                        argument("output", T)
                            .quantized(Quantization.of(1f / 128, 128))
                            .shapedAs("input")),
                sameShape(Normalization::norm),
                Normalization::norm)
            .checkedBy(Normalization::checkRank),
        new FunctionDefinition(
                OperationCode.LOCAL_RESPONSE_NORMALIZATION,
                Signature.since(V1_0)
                    .inputs(
                        data("input", TypeLevels.floats(V1_0)).rank(1, 4),
                        argument("radius", INT32),
                        argument("bias", REAL),
                        argument("alpha", REAL),
                        argument("beta", REAL),
                        argument("axis", INT32).from(V1_2).orElse(-1))
                    .outputs(argument("output", T).shapedAs("input")),
                sameShape(Normalization::response),
                Normalization::response)
            .checkedBy(Normalization::checkRank),
        new FunctionDefinition(
            OperationCode.INSTANCE_NORMALIZATION,
            Signature.since(V1_2)
                .inputs(
                    data("input", TypeLevels.floats(V1_2)).rank(4),
                    argument("gamma", REAL),
                    argument("beta", REAL),
                    argument("epsilon", REAL),
                    argument("layout", BOOL))
                .outputs(argument("output", T).shapedAs("input")),
            sameShape(Normalization::moments),
            Normalization::moments));
  }

  /**
   * The parameter of L2_NORMALIZATION, {@code x / sqrt(sum(x * x))}.
   *
   * @param axis along which the sum runs; not negative
   */
  public record Norm(int axis) implements OperationParameters {}

  /**
   * The parameters of LOCAL_RESPONSE_NORMALIZATION, {@code x / pow(bias + alpha * sum(x * x),
   * beta)}, where the sum runs over the neighbours up to {@code radius} away.
   */
  public record Response(int radius, float bias, float alpha, float beta, int axis)
      implements OperationParameters {}

  /**
   * The parameters of INSTANCE_NORMALIZATION, {@code (x - mean) * gamma / sqrt(variance + epsilon)
   * + beta}, where mean and variance are those of one channel of one batch.
   */
  public record Moments(float gamma, float beta, float epsilon, DataLayout layout)
      implements OperationParameters {}

  /** The output has the input's shape, if the parameters can be had. */
  private static Step<List<Shape>> sameShape(Step<OperationParameters> parameters) {
    return operation -> {
      parameters.of(operation);
      return List.of(operation.input(0).shape());
    };
  }

  /** Ranks but 4 came with HAL 1.2, as did the axis. */
  private static void checkRank(OperationView operation, Check check) {
    check.atLeast(operation.input(0).shape().rank() == 4 ? V1_0 : V1_2);
  }

  private static int axis(OperationView operation, int index) throws ValidationException {
    return NamedDefinition.axis(operation.int32(index, -1), operation.input(0).shape().rank());
  }

  private static Norm norm(OperationView operation) throws ValidationException {
    return new Norm(axis(operation, 1));
  }

  private static Response response(OperationView operation) throws ValidationException {
    int radius = operation.input(1).int32();
    if (radius < 0) {
      throw new ValidationException("the radius " + radius + " is negative");
    }
    return new Response(
        radius,
        operation.input(2).float32(),
        operation.input(3).float32(),
        operation.input(4).float32(),
        axis(operation, 5));
  }

  private static Moments moments(OperationView operation) {
    return new Moments(
        operation.input(1).float32(),
        operation.input(2).float32(),
        operation.input(3).float32(),
        DataLayout.of(operation.input(4).bool()));
  }
}
