// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.model.Elements;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.ResolvedOperation;
import java.util.function.IntBinaryOperator;

/** Kernels that compute each result from two broadcast elements. */
public final class PairKernels {
  private PairKernels() {}

  /** A function of two floats. */
  @FunctionalInterface
  public interface FloatBinaryOperator {
    float apply(float a, float b);
  }

  /** A function of the real values of a floating-point type. */
  public static Kernel floating(ResolvedOperation operation, FloatBinaryOperator function) {
    Elements elements = Elements.of(operation.view().output().type());
    BroadcastPairs pairs = BroadcastPairs.of(operation);
    return (inputs, outputs, scratch, work) ->
        pairs.forEach(
            work,
            (a, b, result) ->
                elements.setFloat(
                    outputs[0],
                    result,
                    function.apply(
                        elements.getFloat(inputs[0], a), elements.getFloat(inputs[1], b))));
  }

  /** A function from the stored values of an integer type to stored results. */
  public static Kernel stored(ResolvedOperation operation, IntBinaryOperator function) {
    Elements elements = Elements.of(operation.view().output().type());
    BroadcastPairs pairs = BroadcastPairs.of(operation);
    return (inputs, outputs, scratch, work) ->
        pairs.forEach(
            work,
            (a, b, result) ->
                elements.setInt(
                    outputs[0],
                    result,
                    function.applyAsInt(
                        elements.getInt(inputs[0], a), elements.getInt(inputs[1], b))));
  }

  /**
   * A function of stored values less their zero points; the output's zero point is added to the
   * result, which is then cut to a range of stored values.
   */
  public static Kernel quantized(
      ResolvedOperation operation, IntRange range, IntBinaryOperator function) {
    int zeroPointA = operation.view().input(0).zeroPoint();
    int zeroPointB = operation.view().input(1).zeroPoint();
    int zeroPoint = operation.view().output().zeroPoint();
    return stored(
        operation,
        (a, b) -> range.clamp(function.applyAsInt(a - zeroPointA, b - zeroPointB) + zeroPoint));
  }
}
