// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;

import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.operations.Requantization.Rounding;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * The way from the integer sums of a convolution or a matrix product to stored results.
 *
 * @param inputZeroPoint subtracted from each stored input
 * @param filterZeroPoint subtracted from each stored weight
 * @param outputZeroPoint added to each result
 * @param output by output channel: from the sum's scale to the output's
 * @param activation the range of stored results
 */
public record Accumulation(
    int inputZeroPoint,
    int filterZeroPoint,
    int outputZeroPoint,
    List<Requantization> output,
    IntRange activation) {
  public Accumulation {
    output = List.copyOf(output);
  }

  /** The stored result of an output channel's sum. */
  public int stored(int sum, int channel) {
    return activation.clamp(output.get(channel).apply(sum) + outputZeroPoint);
  }

  /**
   * For an operation whose inputs 0, 1 and 2 are data, filter and bias; empty where the output does
   * not store 8-bit integers.
   */
  static Optional<Accumulation> of(
      OperationView operation, int channels, FusedActivation activation, Rounding rounding) {
    return activation
        .storedRange(operation.output())
        .map(
            range ->
                new Accumulation(
                    operation.input(0).zeroPoint(),
                    operation.input(1).zeroPoint(),
                    operation.output().zeroPoint(),
                    factors(operation, channels, rounding),
                    range));
  }

  /**
   * As in TensorFlow Lite, the product of two scales is rounded to float where they are those of
   * whole tensors, and is computed in double where each channel has its own. For ONNX Runtime's
   * rounding all are floats.
   */
  private static List<Requantization> factors(
      OperationView operation, int channels, Rounding rounding) {
    float input = operation.input(0).scale();
    float output = operation.output().scale();
    if (operation.input(1).quantization() instanceof PerChannel perChannel) {
      List<Requantization> factors = new ArrayList<>(channels);
      for (float scale : perChannel.scales()) {
        double product = rounding == Rounding.EVEN ? input * scale : (double) input * scale;
        factors.add(factor(product, output, rounding));
      }
      return factors;
    }
    double product = input * operation.input(1).scale();
    return Collections.nCopies(channels, factor(product, output, rounding));
  }

  private static Requantization factor(double product, float output, Rounding rounding) {
    return Requantization.of(
        rounding == Rounding.EVEN ? (float) product / output : product / output, rounding);
  }

  /**
   * Checks that the scales of data, filter and bias belong together. The tolerance is that of
   * AOSP's GetQuantizedConvolutionMultipler. Up to HAL 1.1 the output's scale had to be the
   * largest.
   */
  static void validate(OperationView operation, Check check) throws ValidationException {
    OperandView filter = operation.input(1);
    OperandView bias = operation.input(2);
    check.that(bias.zeroPoint() == 0, "the bias must have zero point 0");
    if (filter.quantization() instanceof PerChannel) {
      check.that(bias.scale() == 0, "the bias of a per-channel filter has no scale of its own");
      check.atLeast(V1_2);
      return;
    }
    float product = operation.input(0).scale() * filter.scale();
    check.that(
        Math.abs((double) bias.scale() - product) <= 1e-6 * Math.min(bias.scale(), product),
        "the bias must have the product of the input's and the filter's scale");
    if (operation.output().type() == TENSOR_QUANT8_ASYMM && operation.output().scale() <= product) {
      check.atLeast(V1_2);
    }
  }
}
