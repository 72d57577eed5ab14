// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_1;
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

/** Functions of two tensors with broadcasting: ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, POW. */
public final class Elementwise {
  private static final TypeLevels SUM_TYPES =
      TypeLevels.since(V1_0, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
          .andSince(V1_2, TENSOR_FLOAT16)
          .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_INT32);

  private Elementwise() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new Arithmetic(OperationCode.ADD, V1_0, SUM_TYPES, QuantizedSum::of),
        new Arithmetic(
            OperationCode.SUB,
            V1_1,
            SUM_TYPES.andSince(V1_2, TENSOR_QUANT8_ASYMM),
            (operation, range) -> QuantizedSum.of(operation, range).ofDifference()),
        new Arithmetic(OperationCode.MUL, V1_0, SUM_TYPES, QuantizedProduct::of),
        new Arithmetic(
            OperationCode.DIV,
            V1_1,
            TypeLevels.since(V1_1, TENSOR_FLOAT32)
                .andSince(V1_2, TENSOR_FLOAT16)
                .andSince(V1_3, TENSOR_INT32),
            (operation, range) -> OperationParameters.NONE),
        new Extreme(OperationCode.MAXIMUM),
        new Extreme(OperationCode.MINIMUM),
        new Power());
  }

  /**
   * The parameters of ADD, SUB, MUL and DIV in float or int32; the latter has no activation.
   *
   * @param activation the range of results
   */
  public record Plain(FusedActivation activation) implements OperationParameters {}

  /**
   * The parameters of ADD and SUB on quantized types, as in TensorFlow Lite: both inputs are scaled
   * to twice the larger scale with 20 bits to spare, added, and scaled to the output. For SUB the
   * factor of the second input is negative.
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
      implements OperationParameters {
    static QuantizedSum of(OperationView operation, IntRange activation) {
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

    private QuantizedSum ofDifference() {
      return new QuantizedSum(leftShift, input1, input2.negated(), output, activation);
    }
  }

  /**
   * The parameters of MUL on quantized types.
   *
   * @param output from the product of the inputs' scales to the output's scale
   * @param activation the range of stored results
   */
  public record QuantizedProduct(Requantization output, IntRange activation)
      implements OperationParameters {
    static QuantizedProduct of(OperationView operation, IntRange activation) {
      // The product of two scales is rounded to float, as in AOSP.
      double product = operation.input(0).scale() * operation.input(1).scale();
      return new QuantizedProduct(
          Requantization.of(product / operation.output().scale(), Rounding.DOUBLE), activation);
    }
  }

  /**
   * The parameters of MAXIMUM and MINIMUM on quantized types: both inputs are first expressed in
   * the output's scale and zero point.
   *
   * @param first from stored values of the first input
   * @param second from stored values of the second input
   */
  public record QuantizedExtreme(LookupTable first, LookupTable second)
      implements OperationParameters {}

  /** Two tensors of a type that are broadcast, and a third of the same type. */
  private abstract static class Broadcasting extends NamedDefinition {
    Broadcasting(OperationCode type) {
      super(type);
    }

    OperandCode checkTensors(OperationView operation, Check check) throws ValidationException {
      OperandCode data = check.inputType(0, types());
      check.inputType(1, data).outputType(0, data);
      if (operation.input(0).isShapeKnown() && operation.input(1).isShapeKnown()) {
        infer(operation);
      }
      return data;
    }

    @Override
    public final List<Shape> infer(OperationView operation) throws ValidationException {
      return List.of(Broadcast.shape(operation.input(0).shape(), operation.input(1).shape()));
    }
  }

  /** How the parameters of a quantized operation are resolved. */
  @FunctionalInterface
  private interface Quantized {
    OperationParameters resolve(OperationView operation, IntRange activation);
  }

  /** Two tensors and a fused activation. */
  private static final class Arithmetic extends Broadcasting {
    private final FeatureLevel introducedIn;
    private final TypeLevels types;
    private final Quantized quantized;

    Arithmetic(
        OperationCode type, FeatureLevel introducedIn, TypeLevels types, Quantized quantized) {
      super(type);
      this.introducedIn = introducedIn;
      this.types = types;
      this.quantized = quantized;
    }

    @Override
    public TypeLevels types() {
      return types;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, introducedIn, 3, 1);
      OperandCode data = checkTensors(operation, check);
      check.inputType(2, INT32).inputRank(0, 1, 4).inputRank(1, 1, 4).activation(2);
      if (operation.input(2).value().isPresent()) {
        activation(operation);
      }
      if (type() == OperationCode.MUL && data == TENSOR_QUANT8_ASYMM) {
        check.that(
            operation.output().scale() > operation.input(0).scale() * operation.input(1).scale(),
            "the output's scale must be greater than the product of the inputs' scales");
      }
      return check.level();
    }

    private static FusedActivation activation(OperationView operation) throws ValidationException {
      FusedActivation activation = FusedActivation.ofCode(operation.input(2).int32());
      if (operation.input(0).type() == TENSOR_INT32 && activation != FusedActivation.NONE) {
        throw new ValidationException("TENSOR_INT32 takes no fused activation");
      }
      return activation;
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      FusedActivation activation = activation(operation);
      return activation
          .storedRange(operation.output())
          .map(range -> quantized.resolve(operation, range))
          .orElseGet(() -> new Plain(activation));
    }
  }

  private static final class Extreme extends Broadcasting {
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    Extreme(OperationCode type) {
      super(type);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 2, 1);
      checkTensors(operation, check);
      return check.level();
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      OperandView output = operation.output();
      return output.scale() == 0
          ? OperationParameters.NONE
          : new QuantizedExtreme(
              Rescaling.requantize(operation.input(0), output),
              Rescaling.requantize(operation.input(1), output));
    }
  }

  private static final class Power extends Broadcasting {
    Power() {
      super(OperationCode.POW);
    }

    @Override
    public TypeLevels types() {
      return TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16);
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 2, 1);
      checkTensors(operation, check);
      return check.level();
    }
  }
}
