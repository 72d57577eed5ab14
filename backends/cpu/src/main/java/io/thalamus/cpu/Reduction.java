// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.Reduction.Parameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.StridedCopy;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;

/** Operations that make one element out of all elements along some axes. */
final class Reduction {
  private Reduction() {}

  static void register(KernelTable.Builder table) {
    table.floats(OperationCode.REDUCE_SUM, operation -> sum(operation, 1));
    // Zero stays zero, also where a product before it was infinite: so NNAPI.
    floating(table, OperationCode.REDUCE_PROD, 1, (a, b) -> a == 0 || b == 0 ? 0 : a * b);
    floating(table, OperationCode.REDUCE_MAX, Float.NEGATIVE_INFINITY, Math::max);
    floating(table, OperationCode.REDUCE_MIN, Float.POSITIVE_INFINITY, Math::min);
    table
        .floats(OperationCode.MEAN, Reduction::mean)
        .quantized8(OperationCode.MEAN, Reduction::quantizedMean)
        .quantized8(
            OperationCode.REDUCE_MAX,
            operation -> integers(operation, least(operation), Math::max, stored -> stored))
        .quantized8(
            OperationCode.REDUCE_MIN,
            operation -> integers(operation, most(operation), Math::min, stored -> stored))
        .add(
            OperationCode.REDUCE_ALL,
            operation -> integers(operation, 1, (a, b) -> b == 0 ? 0 : a, stored -> stored),
            TENSOR_BOOL8)
        .add(
            OperationCode.REDUCE_ANY,
            operation -> integers(operation, 0, (a, b) -> b == 0 ? a : 1, stored -> stored),
            TENSOR_BOOL8);
  }

  private static void floating(
      KernelTable.Builder table, OperationCode code, float start, DoubleBinaryOperator function) {
    table.floats(
        code, operation -> reduced(operation, Elements.FLOAT32, start, function, result -> result));
  }

  /** In double, rounded once: a step that rounds does not count for what many elements are. */
  private static Kernel sum(ResolvedOperation operation, int divisor) {
    return reduced(operation, Elements.FLOAT64, 0, (a, b) -> a + b, sum -> sum / divisor);
  }

  private static Kernel mean(ResolvedOperation operation) {
    return sum(operation, operation.parameters(Parameters.class).count());
  }

  /** The mean of real values, rounded to nearest with ties away from the zero point. */
  private static Kernel quantizedMean(ResolvedOperation operation) {
    OperandView output = operation.view().output();
    int count = operation.parameters(Parameters.class).count();
    int half = count / 2;
    int zeroPoint = output.zeroPoint();
    return integers(
        operation,
        0,
        (sum, stored) -> sum + stored - zeroPoint,
        sum -> (count == 0 ? 0 : (int) (sum >= 0 ? sum + half : sum - half) / count) + zeroPoint);
  }

  private static int least(ResolvedOperation operation) {
    return IntRange.of((OperandCode) operation.view().output().type()).min();
  }

  private static int most(ResolvedOperation operation) {
    return IntRange.of((OperandCode) operation.view().output().type()).max();
  }

  private static Kernel integers(
      ResolvedOperation operation,
      int start,
      DoubleBinaryOperator function,
      DoubleUnaryOperator finish) {
    return reduced(operation, Elements.INT32, start, function, finish);
  }

  /**
   * A kernel with scratch memory for each result.
   *
   * @param sums the type that a function's results are rounded to: a double holds a product and a
   *     difference of two floats so well that they are those of floats
   */
  private static Kernel reduced(
      ResolvedOperation operation,
      Elements sums,
      double start,
      DoubleBinaryOperator function,
      DoubleUnaryOperator finish) {
    Parameters parameters = operation.parameters(Parameters.class);
    Elements elements = Elements.of(operation.view().output().type());
    StridedCopy walk = parameters.walk();
    Kernel kernel =
        (inputs, outputs, scratch, work) -> {
          for (int i = 0; i < parameters.results(); i++) {
            work.done(1);
            sums.setDouble(scratch, i, start);
          }
          walk.forEachRun(
              (source, target) -> {
                work.done(walk.runLength());
                for (int i = 0; i < walk.runLength(); i++) {
                  long result = target + i * walk.runTargetStride();
                  double value = elements.getDouble(inputs[0], source + i * walk.runSourceStride());
                  double sum = sums.getDouble(scratch, result);
                  sums.setDouble(scratch, result, function.applyAsDouble(sum, value));
                }
              });
          for (int i = 0; i < parameters.results(); i++) {
            work.done(1);
            double sum = sums.getDouble(scratch, i);
            elements.setDouble(outputs[0], i, finish.applyAsDouble(sum));
          }
        };
    return kernel.withScratch((long) parameters.results() * sums.size());
  }
}
