// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;

import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.Check;
import io.thalamus.operations.FunctionDefinition;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationParameters;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Signature;
import io.thalamus.operations.Trait;
import io.thalamus.operations.TypeLevels;
import io.thalamus.operations.ValidationException;
import java.util.List;
import java.util.OptionalLong;

/**
 * Layers whose activations are quantized while they run: DYNAMIC_QUANTIZE_LINEAR, which has no
 * parameters, and MATMUL_INTEGER.
 */
public final class DynamicQuantization {
  /** The largest 8-bit integer: the number of steps between the least and the largest float. */
  public static final int STEPS = 255;

  private DynamicQuantization() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR,
                Signature.since(V1_2)
                    .inputs(data("input", TypeLevels.since(V1_2, TENSOR_FLOAT32)))
                    .outputs(
                        argument("output", TENSOR_QUANT8_ASYMM).shapedAs("input"),
                        argument("scale", TENSOR_FLOAT32),
                        argument("zero point", TENSOR_QUANT8_ASYMM)),
                operation -> List.of(operation.input(0).shape(), Shape.of(1), Shape.of(1)),
                Trait.DISCONTINUOUS)
            .checkedBy(DynamicQuantization::checkQuantized),
        new FunctionDefinition(
                ThalamusExtension.MATMUL_INTEGER,
                Signature.since(V1_2)
                    .inputs(
                        data(
                            "input",
                            TypeLevels.since(
                                V1_2, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED)),
                        argument("weights", TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED)
                            .rank(2))
                    .outputs(argument("output", TENSOR_INT32)),
                DynamicQuantization::productShapes,
                DynamicQuantization::productParameters)
            .inferredOnceKnown(0, 1)
            .countedBy(DynamicQuantization::productMacs));
  }

  /**
   * The scale and the zero point that DYNAMIC_QUANTIZE_LINEAR finds. By ONNX's definition, and as
   * ONNX Runtime has it for a tensor of zeros.
   *
   * @param scale from one 8-bit integer to the next
   * @param zeroPoint the 8-bit integer that stands for 0
   */
  public record Found(float scale, int zeroPoint) {
    /**
     * Finds them for floats between two numbers.
     *
     * @param least 0 or less
     * @param most 0 or more
     */
    public static Found of(float least, float most) {
      float steps = (most - least) / STEPS;
      float scale = steps > 0 ? steps : 1;
      return new Found(scale, Math.clamp((int) Math.rint(-least / scale), 0, STEPS));
    }

    /** The 8-bit integer for a float; that for 0 if it is NaN. */
    public int stored(float value) {
      return Math.clamp((long) Math.rint(value / scale) + zeroPoint, 0, STEPS);
    }
  }

  /**
   * The parameters of MATMUL_INTEGER: {@code output[row, unit] = sum((input[row, i] -
   * inputZeroPoint) * (weights[i, unit] - weightsZeroPoint))} in 32 bits.
   *
   * @param rows of the input, seen as a matrix
   * @param inputSize columns of the input and rows of the weights
   * @param units columns of the weights
   */
  public record IntegerProduct(
      int rows, int inputSize, int units, int inputZeroPoint, int weightsZeroPoint)
      implements OperationParameters {}

  private static void checkQuantized(OperationView operation, Check check)
      throws ValidationException {
    checkPlain(operation.output(0), check);
    checkPlain(operation.output(2), check);
  }

  private static void checkPlain(OperandView output, Check check) throws ValidationException {
    check.that(
        output.quantization().equals(Quantization.of(1, 0)),
        "its integers have the scale 1 and the zero point 0, since an execution finds theirs");
  }

  private static OptionalLong productMacs(OperationView operation) {
    boolean areKnown =
        operation.inputs().size() > 1
            && operation.outputs().size() == 1
            && operation.input(1).isShapeKnown()
            && operation.output().isShapeKnown();
    return areKnown
        ? OptionalLong.of(
            operation.output().shape().elementCount() * operation.input(1).shape().dimension(0))
        : OptionalLong.empty();
  }

  private static List<Shape> productShapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    Shape weights = operation.input(1).shape();
    int last = input.rank() - 1;
    if (last < 0 || weights.dimension(0) != input.dimension(last)) {
      throw new ValidationException("input " + input + " does not fit weights " + weights);
    }
    return List.of(input.with(last, weights.dimension(1)));
  }

  private static IntegerProduct productParameters(OperationView operation) {
    Shape input = operation.input(0).shape();
    Shape weights = operation.input(1).shape();
    int size = weights.dimension(0);
    return new IntegerProduct(
        size == 0 ? 0 : Math.toIntExact(input.elementCount() / size),
        size,
        weights.dimension(1),
        operation.input(0).zeroPoint(),
        operation.input(1).zeroPoint());
  }
}
