// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.FLOAT16;
import static io.thalamus.model.OperandCode.FLOAT32;
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
import java.util.function.IntUnaryOperator;

/**
 * Functions that bend a single value: RELU, RELU1, RELU6, LOGISTIC, TANH, ELU, HARD_SWISH, PRELU.
 */
public final class Activation {
  private Activation() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new Clamp(OperationCode.RELU, FusedActivation.RELU),
        new Clamp(OperationCode.RELU1, FusedActivation.RELU1),
        new Clamp(OperationCode.RELU6, FusedActivation.RELU6),
        new Squash(
            OperationCode.LOGISTIC,
            V1_0,
            Quantization.of(1f / 256, 0),
            FixedPointFunctions::logistic),
        new Squash(
            OperationCode.TANH, V1_2, Quantization.of(1f / 128, 128), FixedPointFunctions::tanh),
        new Elu(),
        new HardSwish(),
        new Prelu());
  }

  /**
   * The parameters of RELU, RELU1 and RELU6.
   *
   * @param real the range of real results
   * @param stored the range of stored results; empty for float types
   */
  public record Range(FloatRange real, Optional<IntRange> stored) implements OperationParameters {}

  /**
   * The parameter of ELU, {@code max(0, x) + min(0, alpha * (exp(x) - 1))}.
   *
   * @param alpha factor of negative results
   */
  public record Exponential(float alpha) implements OperationParameters {}

  /**
   * The parameters of PRELU, {@code x < 0 ? alpha * x : x}, on quantized types. Float types have
   * none.
   *
   * @param positive from the input's scale to the output's
   * @param negative from the product of the input's scale and alpha's to the output's
   * @param range of stored results
   */
  public record QuantizedPrelu(Requantization positive, Requantization negative, IntRange range)
      implements OperationParameters {}

  /** What the older activations share: one tensor of at most four dimensions, and one like it. */
  private abstract static class Definition extends NamedDefinition {
    private final TypeLevels types;

    Definition(OperationCode type, FeatureLevel quantizedSince) {
      super(type);
      this.types =
          TypeLevels.since(V1_0, TENSOR_FLOAT32)
              .andSince(V1_2, TENSOR_FLOAT16)
              .andSince(quantizedSince, TENSOR_QUANT8_ASYMM)
              .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);
    }

    @Override
    public TypeLevels types() {
      return types;
    }

    @Override
    public final FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_0, 1, 1);
      OperandCode data = check.inputType(0, types());
      check.outputType(0, data).inputRank(0, 1, 4);
      if (!isFloat(operation.input(0))) {
        checkQuantization(operation, check);
      }
      return check.sameShape(operation.input(0), operation.output()).level();
    }

    abstract void checkQuantization(OperationView operation, Check check)
        throws ValidationException;

    @Override
    public final List<Shape> infer(OperationView operation) {
      return List.of(operation.input(0).shape());
    }
  }

  private static final class Clamp extends Definition {
    private final FusedActivation range;

    Clamp(OperationCode type, FusedActivation range) {
      super(type, V1_0);
      this.range = range;
    }

    @Override
    void checkQuantization(OperationView operation, Check check) throws ValidationException {
      check.sameQuantization(operation.input(0), operation.output());
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      return new Range(range.range(), range.storedRange(operation.output()));
    }
  }

  /**
   * A function into a bounded range. Quantized results have a fixed scale, and as there are only
   * 256 inputs, all results are computed beforehand: a {@link LookupTable}. Float types have no
   * parameters.
   */
  private static final class Squash extends Definition {
    /** Integer bits of the fixed-point argument, as in TensorFlow Lite. */
    private static final int INTEGER_BITS = 4;

    private final Quantization unsignedResult;
    private final IntUnaryOperator function;

    /**
     * @param unsignedResult the scale and zero point of TENSOR_QUANT8_ASYMM results
     * @param function from a fixed-point number of 4 integer bits to one of none
     */
    Squash(
        OperationCode type,
        FeatureLevel quantizedSince,
        Quantization unsignedResult,
        IntUnaryOperator function) {
      super(type, quantizedSince);
      this.unsignedResult = unsignedResult;
      this.function = function;
    }

    @Override
    void checkQuantization(OperationView operation, Check check) throws ValidationException {
      int toType = operation.output().type() == TENSOR_QUANT8_ASYMM ? 0 : -128;
      check.quantization(
          Quantization.of(unsignedResult.scale(), unsignedResult.zeroPoint() + toType));
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      if (isFloat(operation.input(0))) {
        return OperationParameters.NONE;
      }
      OperandView input = operation.input(0);
      OperandView output = operation.output();
      IntRange range = IntRange.of((OperandCode) output.type());
      Requantization toArgument =
          Requantization.of(input.scale() * (double) (1 << (31 - INTEGER_BITS)), Rounding.DOUBLE);
      int radius = FixedPointFunctions.radius(INTEGER_BITS, toArgument.shift());
      int fractionBits = 31 + Math.getExponent(output.scale());
      return LookupTable.of(
          IntRange.of((OperandCode) input.type()),
          stored -> {
            int centered = stored - input.zeroPoint();
            if (Math.abs(centered) >= radius) {
              return centered < 0 ? range.min() : range.max();
            }
            int result = function.applyAsInt(toArgument.apply(centered));
            return range.clamp(
                output.zeroPoint() + FixedPoint.roundingDivideByPowerOfTwo(result, fractionBits));
          });
    }
  }

  private static final class Elu extends NamedDefinition {
    Elu() {
      super(OperationCode.ELU);
    }

    @Override
    public TypeLevels types() {
      return TypeLevels.since(V1_3, TENSOR_FLOAT32, TENSOR_FLOAT16);
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_3, 2, 1);
      OperandCode data = check.inputType(0, types());
      check.inputType(1, data == TENSOR_FLOAT16 ? FLOAT16 : FLOAT32).outputType(0, data);
      return check.sameShape(operation.input(0), operation.output()).level();
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      return List.of(operation.input(0).shape());
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      return new Exponential(operation.input(1).float32());
    }
  }

  /** Quantized results are looked up in a {@link LookupTable}; float types have no parameters. */
  private static final class HardSwish extends NamedDefinition {
    HardSwish() {
      super(OperationCode.HARD_SWISH);
    }

    @Override
    public TypeLevels types() {
      return TypeLevels.since(
          V1_3, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED);
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_3, 1, 1);
      OperandCode data = check.inputType(0, types());
      check.outputType(0, data).sameShape(operation.input(0), operation.output());
      if (!isFloat(operation.input(0))) {
        QuantizedHardSwish.of(operation.input(0), operation.output());
      }
      return check.level();
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      return List.of(operation.input(0).shape());
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      OperandView input = operation.input(0);
      if (isFloat(input)) {
        return OperationParameters.NONE;
      }
      QuantizedHardSwish function = QuantizedHardSwish.of(input, operation.output());
      return LookupTable.of(IntRange.of((OperandCode) input.type()), function::apply);
    }
  }

  private static final class Prelu extends NamedDefinition {
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    Prelu() {
      super(OperationCode.PRELU);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 2, 1);
      OperandCode data = check.inputType(0, types());
      check.inputType(1, data).outputType(0, data);
      if (operation.input(0).isShapeKnown() && operation.input(1).isShapeKnown()) {
        infer(operation);
      }
      return check.level();
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      return List.of(Broadcast.shape(operation.input(0).shape(), operation.input(1).shape()));
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      OperandView input = operation.input(0);
      OperandView output = operation.output();
      if (isFloat(input)) {
        return OperationParameters.NONE;
      }
      // Both factors begin with a quotient or product of floats that is rounded, as in AOSP.
      double positive = input.scale() / output.scale();
      double product = input.scale() * operation.input(1).scale();
      return new QuantizedPrelu(
          Requantization.of(positive, Rounding.DOUBLE),
          Requantization.of(product / output.scale(), Rounding.DOUBLE),
          IntRange.of((OperandCode) output.type()));
    }
  }
}
