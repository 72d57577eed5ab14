// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperandCode;

/**
 * From the scale and zero point of an input of eight bits to those of the output. Stored values are
 * counted from the least of their type, so that signed and unsigned types give the same results.
 */
final class Rescaling {
  private Rescaling() {}

  /** As TensorFlow Lite's ConcatenationWithScaling does it: in float. */
  static LookupTable concatenation(OperandView input, OperandView output) {
    IntRange range = IntRange.of((OperandCode) input.type());
    float scale = input.scale() * (1f / output.scale());
    float bias = -(input.zeroPoint() - range.min()) * scale;
    return LookupTable.of(
        range,
        stored ->
            range.clamp(
                FixedPoint.round((stored - range.min()) * scale + bias) + output.zeroPoint()));
  }

  /**
   * As AOSP's requantize does it: the real value in float, the rest in double, rounded half up,
   * which among unsigned results is half away from zero.
   */
  static LookupTable requantize(OperandView input, OperandView output) {
    IntRange range = IntRange.of((OperandCode) input.type());
    return LookupTable.of(
        range,
        stored -> {
          double real = (stored - input.zeroPoint()) * input.scale();
          double result = real / output.scale() + output.zeroPoint();
          return (int) Math.clamp(Math.floor(result + 0.5), range.min(), range.max());
        });
  }
}
