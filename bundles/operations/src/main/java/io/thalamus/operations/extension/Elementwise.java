// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ElementwiseDefinition;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationParameters;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.Requantization.Rounding;
import io.thalamus.operations.Signature;
import io.thalamus.operations.Trait;
import io.thalamus.operations.TypeLevels;
import io.thalamus.operations.ValidationException;
import java.util.List;
import java.util.stream.Stream;

/** Functions of two tensors with broadcasting, and of one with a factor: RESCALE. */
public final class Elementwise {
  private static final TypeLevels NUMBERS = TypeLevels.floats(V1_2).andSince(V1_2, TENSOR_INT32);

  private static final int LEAST_MANTISSA = 1 << 30;
  private static final int LEAST_SHIFT = -31;
  private static final int LARGEST_SHIFT = 30;

  private Elementwise() {}

  static List<OperationDefinition> definitions() {
    List<OperationDefinition> own =
        List.of(
            ElementwiseDefinition.of(
                ThalamusExtension.SQUARED_DIFFERENCE,
                io.thalamus.operations.Elementwise.pair(
                    NUMBERS.andSince(V1_2, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED)),
                Elementwise::squareParameters),
            pair(ThalamusExtension.FLOOR_DIV, NUMBERS, Trait.DISCONTINUOUS),
            pair(ThalamusExtension.ATAN2, TypeLevels.floats(V1_2), Trait.DISCONTINUOUS),
            pair(ThalamusExtension.BITWISE_XOR, TypeLevels.since(V1_2, TENSOR_INT32)),
            pair(ThalamusExtension.RIGHT_SHIFT, TypeLevels.since(V1_2, TENSOR_INT32)),
            ElementwiseDefinition.of(
                    ThalamusExtension.RESCALE,
                    Signature.since(V1_2)
                        .inputs(
                            data("input", TypeLevels.since(V1_2, ElementTypes.rescalable())),
                            argument("multiplier", INT32),
                            argument("shift", INT32))
                        .outputs(argument("output", ElementTypes.rescalable()).shapedAs("input")),
                    Elementwise::rescaled)
                .checkedBy(
                    (operation, _) -> {
                      if (operation.hasValues(1)) {
                        rescaled(operation);
                      }
                    }));
    return Stream.concat(
            own.stream(),
            io.thalamus.operations.Elementwise.even(
                ThalamusExtension.ADD, ThalamusExtension.SUB, ThalamusExtension.MUL)
                .stream())
        .toList();
  }

  private static OperationDefinition pair(
      ExtensionOperationType type, TypeLevels types, Trait... traits) {
    return ElementwiseDefinition.of(type, io.thalamus.operations.Elementwise.pair(types), traits);
  }

  /**
   * The parameters of SQUARED_DIFFERENCE on quantized types, as in TensorFlow Lite: both inputs are
   * scaled to twice the larger scale with 7 bits to spare; the square of their difference is scaled
   * to the output.
   *
   * @param first from the first input's scale
   * @param second from the second input's scale
   * @param output to the output's scale
   */
  public record QuantizedSquare(Requantization first, Requantization second, Requantization output)
      implements OperationParameters {
    private static final int LEFT_SHIFT = 7;

    /** Beyond it the least square is larger than all stored values. */
    private static final int MOST_SHIFT = 15;

    static QuantizedSquare of(OperationView operation) {
      float first = operation.input(0).scale();
      float second = operation.input(1).scale();
      double twiceMax = 2.0 * Math.max(first, second);
      double spared = 1 << 2 * LEFT_SHIFT;
      Requantization output =
          Requantization.of(
              twiceMax * twiceMax / (spared * operation.output().scale()), Rounding.DOUBLE);
      return new QuantizedSquare(
          Requantization.of(first / twiceMax, Rounding.DOUBLE),
          Requantization.of(second / twiceMax, Rounding.DOUBLE),
          new Requantization(
              output.multiplier(), Math.min(output.shift(), MOST_SHIFT), Rounding.DOUBLE));
    }

    /** Returns the stored result less its zero point; it may be beyond the type. */
    public int apply(int firstStored, int secondStored) {
      int difference =
          first.apply(firstStored << LEFT_SHIFT) - second.apply(secondStored << LEFT_SHIFT);
      int square = difference * difference;
      return output.apply(Math.min(square, Integer.MAX_VALUE >> Math.max(output.shift(), 0)));
    }
  }

  /**
   * The parameters of RESCALE. Immutable.
   *
   * @param factor of all elements, which rounds twice
   * @param origin the zero point of the input
   * @param range of results around their zero point
   * @param zeroPoint of the output
   */
  public record Rescaled(Requantization factor, int origin, IntRange range, int zeroPoint)
      implements OperationParameters {
    /** Returns the stored result of a stored element. */
    public int apply(int stored) {
      return range.clamp(factor.apply(stored - origin)) + zeroPoint;
    }
  }

  private static Rescaled rescaled(OperationView operation) throws ValidationException {
    int multiplier = operation.input(1).int32();
    int shift = operation.input(2).int32();
    if (multiplier != 0 && multiplier < LEAST_MANTISSA) {
      throw new ValidationException(
          "the multiplier must be 0 or at least 2^30, but is " + multiplier);
    }
    if (shift < LEAST_SHIFT || shift > LARGEST_SHIFT) {
      throw new ValidationException(
          "the shift must be from " + LEAST_SHIFT + " to " + LARGEST_SHIFT + ", but is " + shift);
    }
    OperandView output = operation.output();
    int zeroPoint = output.zeroPoint();
    IntRange stored = IntRange.of((OperandCode) output.type());
    return new Rescaled(
        new Requantization(multiplier, shift, Rounding.DOUBLE),
        operation.input(0).zeroPoint(),
        new IntRange(stored.min() - zeroPoint, stored.max() - zeroPoint),
        zeroPoint);
  }

  private static OperationParameters squareParameters(OperationView operation) {
    return operation.output().scale() == 0
        ? OperationParameters.NONE
        : QuantizedSquare.of(operation);
  }
}
