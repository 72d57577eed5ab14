// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_1;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.Argument.fusedActivation;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.Requantization.Rounding;
import java.util.List;
import java.util.stream.Stream;

/** Functions of two tensors with broadcasting: ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, POW. */
public final class Elementwise {
  private static final TypeLevels SUM_TYPES = TypeLevels.numbers(V1_0).andSince(V1_3, TENSOR_INT32);

  private Elementwise() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        arithmetic(OperationCode.ADD, V1_0, SUM_TYPES, QuantizedSum::of),
        arithmetic(
            OperationCode.SUB,
            V1_1,
            SUM_TYPES.andSince(V1_2, TENSOR_QUANT8_ASYMM),
            (operation, range) -> QuantizedSum.of(operation, range).ofDifference()),
        arithmetic(OperationCode.MUL, V1_0, SUM_TYPES, QuantizedProduct::of)
            .checkedBy(Elementwise::checkProduct),
        arithmetic(
            OperationCode.DIV,
            V1_1,
            TypeLevels.floats(V1_1).andSince(V1_3, TENSOR_INT32),
            (operation, range) -> OperationParameters.NONE),
        extreme(OperationCode.MAXIMUM),
        extreme(OperationCode.MINIMUM),
        ElementwiseDefinition.of(OperationCode.POW, pair(TypeLevels.floats(V1_2))));
  }

  /** Sums, differences and products of 8-bit integers, rounded as ONNX does. */
  public static List<OperationDefinition> even(
      OperationType sum, OperationType difference, OperationType product) {
    return Stream.of(sum, difference, product)
        .<OperationDefinition>map(
            type ->
                arithmetic(
                    type, V1_2, TypeLevels.quantized8(), (operation, range) -> new Even(range)))
        .toList();
  }

  /** Returns the signature of a function of two tensors of a type, which are broadcast. */
  public static Signature pair(TypeLevels types) {
    return Signature.since(V1_2)
        .inputs(data("input0", types), argument("input1", T))
        .outputs(argument("output", T));
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
   * The parameters of the extension's ADD, SUB and MUL: what both inputs stand for is computed with
   * as floats; the result is divided by the scale and rounded to the nearest whole number, of two
   * that are as near to the even one.
   *
   * @param activation the range of stored results
   */
  public record Even(IntRange activation) implements OperationParameters {}

  /**
   * The parameters of MAXIMUM and MINIMUM on quantized types: both inputs are first expressed in
   * the output's scale and zero point.
   *
   * @param first from stored values of the first input
   * @param second from stored values of the second input
   */
  public record QuantizedExtreme(LookupTable first, LookupTable second)
      implements OperationParameters {}

  /** A way to resolve the parameters of a quantized operation. */
  @FunctionalInterface
  private interface Quantized {
    OperationParameters resolve(OperationView operation, IntRange activation);
  }

  /** Two tensors and a fused activation. */
  private static FunctionDefinition arithmetic(
      OperationType type, FeatureLevel since, TypeLevels types, Quantized quantized) {
    return ElementwiseDefinition.of(
            type,
            Signature.since(since)
                .inputs(
                    data("input0", types).rank(1, 4),
                    argument("input1", T).rank(1, 4),
                    fusedActivation())
                .outputs(argument("output", T)),
            operation -> {
              FusedActivation activation = activation(operation);
              return activation
                  .storedRange(operation.output())
                  .map(range -> quantized.resolve(operation, range))
                  .orElseGet(() -> new Plain(activation));
            })
        .checkedBy(
            (operation, check) -> {
              if (operation.input(2).value().isPresent()) {
                activation(operation);
              }
            });
  }

  private static void checkProduct(OperationView operation, Check check)
      throws ValidationException {
    OperandView output = operation.output();
    check.that(
        output.type() != TENSOR_QUANT8_ASYMM
            || output.scale() > operation.input(0).scale() * operation.input(1).scale(),
        "the output's scale must be greater than the product of the inputs' scales");
  }

  private static FusedActivation activation(OperationView operation) throws ValidationException {
    FusedActivation activation = FusedActivation.ofCode(operation.input(2).int32());
    if (operation.input(0).type() == TENSOR_INT32 && activation != FusedActivation.NONE) {
      throw new ValidationException("TENSOR_INT32 takes no fused activation");
    }
    return activation;
  }

  private static FunctionDefinition extreme(OperationCode type) {
    return ElementwiseDefinition.of(
        type,
        pair(TypeLevels.numbers(V1_2).andSince(V1_2, TENSOR_INT32)),
        Elementwise::extremeParameters);
  }

  private static OperationParameters extremeParameters(OperationView operation) {
    OperandView output = operation.output();
    return output.scale() == 0
        ? OperationParameters.NONE
        : new QuantizedExtreme(
            Rescaling.requantize(operation.input(0), output),
            Rescaling.requantize(operation.input(1), output));
  }
}
