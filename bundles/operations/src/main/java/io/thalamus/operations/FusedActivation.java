// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import java.util.Optional;

/** The activation that an operation applies to its result. Numbers as in NNAPI. */
public enum FusedActivation {
  NONE(0, Float.NEGATIVE_INFINITY, Float.POSITIVE_INFINITY),
  RELU(1, 0, Float.POSITIVE_INFINITY),
  RELU1(2, -1, 1),
  RELU6(3, 0, 6);

  private final int code;
  private final FloatRange range;

  FusedActivation(int code, float min, float max) {
    this.code = code;
    this.range = new FloatRange(min, max);
  }

  /** NNAPI's FusedActivationFunc. */
  public int code() {
    return code;
  }

  /** The activation with NNAPI's number. */
  public static FusedActivation ofCode(int code) throws ValidationException {
    for (FusedActivation activation : values()) {
      if (activation.code == code) {
        return activation;
      }
    }
    throw new ValidationException("there is no fused activation " + code);
  }

  /** The range of real results. */
  public FloatRange range() {
    return range;
  }

  /** The range of stored results of an output; empty where it does not store 8-bit integers. */
  public Optional<IntRange> storedRange(OperandView output) {
    OperandType type = output.type();
    return type == OperandCode.TENSOR_QUANT8_ASYMM || type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
        ? Optional.of(range((OperandCode) type, output.quantization()))
        : Optional.empty();
  }

  /**
   * The range of stored results of a quantized type: that of the type, cut by the activation.
   * Bounds are rounded to nearest, half away from zero, as in TensorFlow Lite's
   * CalculateActivationRangeQuantized.
   */
  public IntRange range(OperandCode type, Quantization quantization) {
    IntRange whole = IntRange.of(type);
    float scale = quantization.scale();
    int zeroPoint = quantization.zeroPoint();
    int min = whole.min();
    int max = whole.max();
    if (range.min() != Float.NEGATIVE_INFINITY) {
      min = Math.max(min, zeroPoint + FixedPoint.round(range.min() / scale));
    }
    if (range.max() != Float.POSITIVE_INFINITY) {
      max = Math.min(max, zeroPoint + FixedPoint.round(range.max() / scale));
    }
    return new IntRange(min, max);
  }
}
