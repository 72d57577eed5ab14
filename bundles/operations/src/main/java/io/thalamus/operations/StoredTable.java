// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.OperandCode;
import java.util.function.IntUnaryOperator;

/**
 * A function from one stored value of eight bits to another, tabulated: whatever formula a rule
 * prescribes, a kernel only looks up. Immutable.
 */
public final class StoredTable {
  private final int least;
  private final int[] results;

  private StoredTable(IntRange range, IntUnaryOperator function) {
    least = range.min();
    results = new int[range.max() - range.min() + 1];
    for (int i = 0; i < results.length; i++) {
      results[i] = function.applyAsInt(least + i);
    }
  }

  /** The function on the stored values of a type of eight bits. */
  static StoredTable of(OperandCode type, IntUnaryOperator function) {
    return new StoredTable(IntRange.of(type), function);
  }

  /**
   * From an input's scale to the output's as TensorFlow Lite's ConcatenationWithScaling does it: in
   * float. Stored values are counted from the least of their type, so that signed and unsigned
   * types give the same results.
   */
  static StoredTable concatenation(OperandView input, OperandView output) {
    IntRange range = IntRange.of((OperandCode) input.type());
    float scale = input.scale() * (1f / output.scale());
    float bias = -(input.zeroPoint() - range.min()) * scale;
    return new StoredTable(
        range,
        stored ->
            range.clamp(
                FixedPoint.round((stored - range.min()) * scale + bias) + output.zeroPoint()));
  }

  /**
   * From an input's scale to the output's as NNAPI's own operations do it: in double, rounded half
   * up among values that are counted from the least of their type.
   */
  static StoredTable requantization(OperandView input, OperandView output) {
    IntRange range = IntRange.of((OperandCode) input.type());
    return new StoredTable(
        range,
        stored -> {
          double real = (stored - input.zeroPoint()) * input.scale();
          double result = real / output.scale() + output.zeroPoint();
          return (int) Math.clamp(Math.floor(result + 0.5), range.min(), range.max());
        });
  }

  /** The result for a stored value. */
  public int apply(int stored) {
    return results[stored - least];
  }
}
