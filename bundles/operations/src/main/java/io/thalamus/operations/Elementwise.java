// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.operations.Requantization.Rounding;
import java.util.List;

/** Arithmetic on two tensors with broadcasting: ADD, MUL. */
public final class Elementwise {
  private Elementwise() {}

  static List<OperationDefinition> definitions() {
    return List.of(new Add(), new Mul());
  }

  /**
   * The parameters of arithmetic in float or int32.
   *
   * @param activation the range of results
   */
  public record Plain(FusedActivation activation) implements OperationParameters {}

  /**
   * The parameters of ADD and SUB on quantized types, as in TensorFlow Lite: both inputs are scaled
   * to twice the larger scale with 20 bits to spare, added, and scaled to the output.
   *
   * @param leftShift bits to spare
   * @param input1 from the first input's scale
   * @param input2 from the second input's scale
   * @param output to the output's scale
   * @param activation the range of stored results
   */
  public record QuantizedSum(
      int leftShift,
      Requantization input1,
      Requantization input2,
      Requantization output,
      IntRange activation)
      implements OperationParameters {}

  /**
   * The parameters of MUL on quantized types.
   *
   * @param output from the product of the inputs' scales to the output's scale
   * @param activation the range of stored results
   */
  public record QuantizedProduct(Requantization output, IntRange activation)
      implements OperationParameters {}

  /** What the arithmetic operations share: two tensors, a fused activation, broadcasting. */
  private abstract static class Arithmetic implements OperationDefinition {
    private final OperationCode type;
    private final FeatureLevel introducedIn;
    private final TypeLevels types;

    Arithmetic(OperationCode type, FeatureLevel introducedIn, TypeLevels types) {
      this.type = type;
      this.introducedIn = introducedIn;
      this.types = types;
    }

    @Override
    public OperationType type() {
      return type;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = new Check(operation, introducedIn).inputCount(3).outputCount(1);
      OperandCode data = check.inputType(0, types);
      check.inputType(1, data).inputType(2, OperandCode.INT32).outputType(0, data);
      check.inputRank(0, 0, 4).inputRank(1, 0, 4);
      if (operation.input(2).value().isPresent()) {
        FusedActivation.ofCode(operation.input(2).int32());
      }
      if (operation.input(0).isShapeKnown() && operation.input(1).isShapeKnown()) {
        Broadcast.shape(operation.input(0).shape(), operation.input(1).shape());
      }
      return check.level();
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      return List.of(Broadcast.shape(operation.input(0).shape(), operation.input(1).shape()));
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      FusedActivation activation = FusedActivation.ofCode(operation.input(2).int32());
      return switch ((OperandCode) operation.input(0).type()) {
        case TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED ->
            quantized(
                operation,
                activation.range(
                    (OperandCode) operation.output().type(), operation.output().quantization()));
        default -> new Plain(activation);
      };
    }

    abstract OperationParameters quantized(OperationView operation, IntRange activation)
        throws ValidationException;
  }

  private static final class Add extends Arithmetic {
    Add() {
      super(
          OperationCode.ADD,
          V1_0,
          TypeLevels.since(V1_0, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
              .andSince(V1_2, TENSOR_FLOAT16)
              .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_INT32));
    }

    @Override
    OperationParameters quantized(OperationView operation, IntRange activation) {
      return quantizedSum(operation, activation);
    }
  }

  private static final class Mul extends Arithmetic {
    Mul() {
      super(
          OperationCode.MUL,
          V1_0,
          TypeLevels.since(V1_0, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
              .andSince(V1_2, TENSOR_FLOAT16)
              .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_INT32));
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      FeatureLevel level = super.validate(operation);
      if (operation.output().scale() != 0
          && operation.output().scale()
              <= operation.input(0).scale() * operation.input(1).scale()) {
        throw new ValidationException(
            "the output's scale must be greater than the product of the inputs' scales");
      }
      return level;
    }

    @Override
    OperationParameters quantized(OperationView operation, IntRange activation) {
      double product = (double) operation.input(0).scale() * operation.input(1).scale();
      return new QuantizedProduct(
          Requantization.of(product / operation.output().scale(), Rounding.DOUBLE), activation);
    }
  }

  private static QuantizedSum quantizedSum(OperationView operation, IntRange activation) {
    int leftShift = 20;
    double twiceMax = 2.0 * Math.max(operation.input(0).scale(), operation.input(1).scale());
    return new QuantizedSum(
        leftShift,
        Requantization.of(operation.input(0).scale() / twiceMax, Rounding.DOUBLE),
        Requantization.of(operation.input(1).scale() / twiceMax, Rounding.DOUBLE),
        Requantization.of(
            twiceMax / ((1 << leftShift) * (double) operation.output().scale()), Rounding.DOUBLE),
        activation);
  }
}
