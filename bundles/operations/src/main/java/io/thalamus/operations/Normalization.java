// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.BOOL;
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
import java.util.List;

/**
 * Values divided by a measure of their neighbours: L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION,
 * INSTANCE_NORMALIZATION.
 */
public final class Normalization {
  private static final TypeLevels FLOATS =
      TypeLevels.since(V1_0, TENSOR_FLOAT32).andSince(V1_2, TENSOR_FLOAT16);

  private Normalization() {}

  static List<OperationDefinition> definitions() {
    return List.of(new L2(), new LocalResponse(), new Instance());
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

  /** The output has the input's shape. */
  private abstract static class Definition extends NamedDefinition {
    Definition(OperationCode type) {
      super(type);
    }

    @Override
    public final List<Shape> infer(OperationView operation) throws ValidationException {
      resolve(operation);
      return List.of(operation.input(0).shape());
    }

    /** An axis came with HAL 1.2, and so did the ranks that need one. */
    static Check checkAxis(OperationView operation, Check check, int axis)
        throws ValidationException {
      check.inputRank(0, 1, 4);
      if (operation.has(axis)) {
        return check.inputType(axis, INT32).atLeast(V1_2);
      }
      return check.atLeast(operation.input(0).shape().rank() == 4 ? V1_0 : V1_2);
    }

    static int axis(OperationView operation, int index) throws ValidationException {
      return axis(operation.int32(index, -1), operation.input(0).shape().rank());
    }
  }

  private static final class L2 extends Definition {
    L2() {
      super(OperationCode.L2_NORMALIZATION);
    }

    @Override
    public TypeLevels types() {
      return FLOATS.andSince(V1_2, TENSOR_QUANT8_ASYMM).andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = new Check(operation, V1_0).inputCount(1, 2).outputCount(1);
      OperandCode data = check.inputType(0, types());
      check.outputType(0, data).sameShape(operation.input(0), operation.output());
      if (!isFloat(operation.input(0))) {
        check.quantization(Quantization.of(1f / 128, data == TENSOR_QUANT8_ASYMM ? 128 : 0));
      }
      return checkAxis(operation, check, 1).level();
    }

    @Override
    public boolean isDefault(OperationView operation, int input) {
      return isLastAxis(operation, input);
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      return new Norm(axis(operation, 1));
    }
  }

  private static final class LocalResponse extends Definition {
    LocalResponse() {
      super(OperationCode.LOCAL_RESPONSE_NORMALIZATION);
    }

    @Override
    public TypeLevels types() {
      return FLOATS;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = new Check(operation, V1_0).inputCount(5, 6).outputCount(1);
      OperandCode data = check.inputType(0, types());
      OperandCode scalar = data == TENSOR_FLOAT16 ? FLOAT16 : FLOAT32;
      check.inputTypesFrom(1, INT32, scalar, scalar, scalar, INT32);
      check.outputType(0, data).sameShape(operation.input(0), operation.output());
      return checkAxis(operation, check, 5).level();
    }

    @Override
    public boolean isDefault(OperationView operation, int input) {
      return isLastAxis(operation, input);
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
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
  }

  private static final class Instance extends Definition {
    Instance() {
      super(OperationCode.INSTANCE_NORMALIZATION);
    }

    @Override
    public TypeLevels types() {
      return FLOATS;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 5, 1);
      OperandCode data = check.inputType(0, types());
      OperandCode scalar = data == TENSOR_FLOAT16 ? FLOAT16 : FLOAT32;
      check.inputTypesFrom(1, scalar, scalar, scalar, BOOL).inputRank(0, 4, 4);
      return check.outputType(0, data).sameShape(operation.input(0), operation.output()).level();
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      return new Moments(
          operation.input(1).float32(),
          operation.input(2).float32(),
          operation.input(3).float32(),
          DataLayout.of(operation.input(4).bool()));
    }
  }
}
