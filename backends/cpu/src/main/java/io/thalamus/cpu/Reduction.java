// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.Reduction.Parameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.StridedCopy;
import java.lang.foreign.MemorySegment;
import java.util.function.IntBinaryOperator;
import java.util.function.IntUnaryOperator;

/** Operations that make one element out of all elements along some axes. */
final class Reduction {
  private Reduction() {}

  static void register(KernelTable.Builder table) {
    floating(table, OperationCode.REDUCE_SUM, 0, (a, b) -> a + b);
    // Zero stays zero, also where a product before it was infinite: so NNAPI.
    floating(table, OperationCode.REDUCE_PROD, 1, (a, b) -> a == 0 || b == 0 ? 0 : a * b);
    floating(table, OperationCode.REDUCE_MAX, Float.NEGATIVE_INFINITY, Math::max);
    floating(table, OperationCode.REDUCE_MIN, Float.POSITIVE_INFINITY, Math::min);
    table
        .add(OperationCode.MEAN, Reduction::mean, ElementTypes.floats())
        .add(OperationCode.MEAN, Reduction::quantizedMean, ElementTypes.quantized8())
        .add(
            OperationCode.REDUCE_MAX,
            operation -> integers(operation, least(operation), Math::max, stored -> stored),
            ElementTypes.quantized8())
        .add(
            OperationCode.REDUCE_MIN,
            operation -> integers(operation, most(operation), Math::min, stored -> stored),
            ElementTypes.quantized8())
        .add(
            OperationCode.REDUCE_ALL,
            operation -> integers(operation, 1, (a, b) -> b == 0 ? 0 : a, stored -> stored),
            TENSOR_BOOL8)
        .add(
            OperationCode.REDUCE_ANY,
            operation -> integers(operation, 0, (a, b) -> b == 0 ? a : 1, stored -> stored),
            TENSOR_BOOL8);
  }

  /** A function of two floats. */
  @FunctionalInterface
  private interface FloatBinaryOperator {
    float apply(float a, float b);
  }

  private static void floating(
      KernelTable.Builder table, OperationCode code, float start, FloatBinaryOperator function) {
    table.add(code, operation -> floating(operation, start, function, 1), ElementTypes.floats());
  }

  private static Kernel mean(ResolvedOperation operation) {
    return floating(operation, 0, (a, b) -> a + b, operation.parameters(Parameters.class).count());
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
        sum -> (count == 0 ? 0 : (sum >= 0 ? sum + half : sum - half) / count) + zeroPoint);
  }

  private static int least(ResolvedOperation operation) {
    return IntRange.of((OperandCode) operation.view().output().type()).min();
  }

  private static int most(ResolvedOperation operation) {
    return IntRange.of((OperandCode) operation.view().output().type()).max();
  }

  private static Kernel floating(
      ResolvedOperation operation, float start, FloatBinaryOperator function, int divisor) {
    Parameters parameters = operation.parameters(Parameters.class);
    Elements elements = Elements.of(operation.view().output().type());
    Elements sums = Elements.FLOAT32;
    StridedCopy walk = parameters.walk();
    return new Accumulating(parameters.results()) {
      @Override
      public void run(
          MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
        for (int i = 0; i < parameters.results(); i++) {
          work.done(1);
          sums.setFloat(scratch, i, start);
        }
        walk.forEachRun(
            (source, target) -> {
              work.done(walk.runLength());
              for (int i = 0; i < walk.runLength(); i++) {
                long result = target + i * walk.runTargetStride();
                float value = elements.getFloat(inputs[0], source + i * walk.runSourceStride());
                sums.setFloat(
                    scratch, result, function.apply(sums.getFloat(scratch, result), value));
              }
            });
        for (int i = 0; i < parameters.results(); i++) {
          work.done(1);
          elements.setFloat(outputs[0], i, sums.getFloat(scratch, i) / divisor);
        }
      }
    };
  }

  private static Kernel integers(
      ResolvedOperation operation, int start, IntBinaryOperator function, IntUnaryOperator finish) {
    Parameters parameters = operation.parameters(Parameters.class);
    Elements elements = Elements.of(operation.view().output().type());
    Elements sums = Elements.INT32;
    StridedCopy walk = parameters.walk();
    return new Accumulating(parameters.results()) {
      @Override
      public void run(
          MemorySegment[] inputs, MemorySegment[] outputs, MemorySegment scratch, WorkMeter work) {
        for (int i = 0; i < parameters.results(); i++) {
          work.done(1);
          sums.setInt(scratch, i, start);
        }
        walk.forEachRun(
            (source, target) -> {
              work.done(walk.runLength());
              for (int i = 0; i < walk.runLength(); i++) {
                long result = target + i * walk.runTargetStride();
                int value = elements.getInt(inputs[0], source + i * walk.runSourceStride());
                sums.setInt(
                    scratch, result, function.applyAsInt(sums.getInt(scratch, result), value));
              }
            });
        for (int i = 0; i < parameters.results(); i++) {
          work.done(1);
          elements.setInt(outputs[0], i, finish.applyAsInt(sums.getInt(scratch, i)));
        }
      }
    };
  }

  /** A kernel with 32 bits of scratch memory for each result. */
  private abstract static class Accumulating implements Kernel {
    private final long scratchSize;

    Accumulating(int results) {
      scratchSize = (long) results * Integer.BYTES;
    }

    @Override
    public long scratchSize() {
      return scratchSize;
    }
  }
}
