// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.REAL;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.NamedDefinition.isFloat;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.Requantization.Rounding;
import java.util.List;
import java.util.Optional;
import java.util.function.IntUnaryOperator;

/**
 * Functions that bend a single value: RELU, RELU1, RELU6, LOGISTIC, TANH, ELU, HARD_SWISH, PRELU.
 */
public final class Activation {
  /** Integer bits of the fixed-point arguments of squashing functions, as in TensorFlow Lite. */
  private static final int INTEGER_BITS = 4;

  private Activation() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        clamp(OperationCode.RELU, FusedActivation.RELU),
        clamp(OperationCode.RELU1, FusedActivation.RELU1),
        clamp(OperationCode.RELU6, FusedActivation.RELU6),
        squash(
            OperationCode.LOGISTIC,
            TypeLevels.numbers(V1_0),
            Quantization.of(1f / 256, 0),
            FixedPointFunctions::logistic),
        squash(
            OperationCode.TANH,
            TypeLevels.numbers(V1_0).andSince(V1_2, TENSOR_QUANT8_ASYMM),
            Quantization.of(1f / 128, 128),
            FixedPointFunctions::tanh),
        ElementwiseDefinition.of(
            OperationCode.ELU,
            Signature.since(V1_3)
                .inputs(data("input", TypeLevels.floats(V1_3)), argument("alpha", REAL))
                .outputs(argument("output", T).shapedAs("input")),
            operation -> new Exponential(operation.input(1).float32())),
        ElementwiseDefinition.of(
                OperationCode.HARD_SWISH,
                sameShape(V1_3, data("input", TypeLevels.numbers(V1_3)), argument("output", T)),
                Activation::hardSwish)
            .checkedBy(Activation::checkHardSwish),
        ElementwiseDefinition.of(
            OperationCode.PRELU,
            Signature.since(V1_2)
                .inputs(data("input", TypeLevels.numbers(V1_2)), argument("alpha", T))
                .outputs(argument("output", T)),
            Activation::preluParameters));
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

  private static Signature sameShape(FeatureLevel since, Argument input, Argument output) {
    return Signature.since(since).inputs(input).outputs(output.shapedAs("input"));
  }

  private static OperationDefinition clamp(OperationCode type, FusedActivation range) {
    return ElementwiseDefinition.of(
        type,
        sameShape(
            V1_0,
            data("input", TypeLevels.numbers(V1_0)).rank(1, 4),
            argument("output", T).quantizedAs("input")),
        operation -> new Range(range.range(), range.storedRange(operation.output())));
  }

  /**
   * A function into a bounded range. Quantized results have a fixed scale, and as there are only
   * 256 inputs, all results are computed beforehand: a {@link LookupTable}. Float types have no
   * parameters.
   *
   * @param unsignedResult the scale and zero point of TENSOR_QUANT8_ASYMM results
   * @param function from a fixed-point number of 4 integer bits to one of none
   */
  private static OperationDefinition squash(
      OperationCode type,
      TypeLevels types,
      Quantization unsignedResult,
      IntUnaryOperator function) {
    return ElementwiseDefinition.of(
        type,
        sameShape(
            V1_0, data("input", types).rank(1, 4), argument("output", T).quantized(unsignedResult)),
        operation -> squashParameters(operation, function));
  }

  private static OperationParameters squashParameters(
      OperationView operation, IntUnaryOperator function) {
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

  private static void checkHardSwish(OperationView operation, Check check)
      throws ValidationException {
    if (!isFloat(operation.input(0))) {
      QuantizedHardSwish.of(operation.input(0), operation.output());
    }
  }

  private static OperationParameters hardSwish(OperationView operation) throws ValidationException {
    OperandView input = operation.input(0);
    if (isFloat(input)) {
      return OperationParameters.NONE;
    }
    QuantizedHardSwish function = QuantizedHardSwish.of(input, operation.output());
    return LookupTable.of(IntRange.of((OperandCode) input.type()), function::apply);
  }

  private static OperationParameters preluParameters(OperationView operation) {
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
