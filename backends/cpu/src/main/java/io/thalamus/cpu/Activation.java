// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Activation.Exponential;
import io.thalamus.operations.Activation.QuantizedPrelu;
import io.thalamus.operations.Activation.Range;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.LookupTable;
import io.thalamus.operations.ResolvedOperation;
import java.util.List;
import java.util.function.IntUnaryOperator;

/** Functions that bend a single value. */
final class Activation {
  private Activation() {}

  static void register(KernelTable.Builder table) {
    for (OperationCode clamp :
        List.of(OperationCode.RELU, OperationCode.RELU1, OperationCode.RELU6)) {
      table
          .add(
              clamp,
              operation -> {
                FloatRange range = operation.parameters(Range.class).real();
                return floating(operation, range::clamp);
              },
              ElementTypes.floats())
          .add(
              clamp,
              operation -> {
                IntRange range = operation.parameters(Range.class).stored().orElseThrow();
                return stored(operation, range::clamp);
              },
              ElementTypes.quantized8());
    }
    table
        .add(
            OperationCode.LOGISTIC,
            operation -> floating(operation, x -> (float) (1 / (1 + Math.exp(-x)))),
            ElementTypes.floats())
        .add(
            OperationCode.TANH,
            operation -> floating(operation, x -> (float) Math.tanh(x)),
            ElementTypes.floats())
        .add(
            OperationCode.ELU,
            operation -> {
              float alpha = operation.parameters(Exponential.class).alpha();
              return floating(operation, x -> elu(x, alpha));
            },
            ElementTypes.floats())
        .add(
            OperationCode.HARD_SWISH,
            operation -> floating(operation, x -> x * Math.clamp(x + 3, 0f, 6f) / 6),
            ElementTypes.floats())
        .add(
            OperationCode.PRELU,
            operation -> PairKernels.floating(operation, (x, alpha) -> x < 0 ? x * alpha : x),
            ElementTypes.floats())
        .add(OperationCode.PRELU, Activation::quantizedPrelu, ElementTypes.quantized8());
    for (OperationCode looked :
        List.of(OperationCode.LOGISTIC, OperationCode.TANH, OperationCode.HARD_SWISH)) {
      table.add(
          looked,
          operation -> stored(operation, operation.parameters(LookupTable.class)::apply),
          ElementTypes.quantized8());
    }
  }

  private static float elu(float x, float alpha) {
    float bent = (float) (alpha * Math.expm1(x));
    return Math.max(0, x) + (bent < 0 ? bent : 0);
  }

  private static Kernel quantizedPrelu(ResolvedOperation operation) {
    QuantizedPrelu prelu = operation.parameters(QuantizedPrelu.class);
    return PairKernels.quantized(
        operation,
        prelu.range(),
        (x, alpha) -> x < 0 ? prelu.negative().apply(x * alpha) : prelu.positive().apply(x));
  }

  @FunctionalInterface
  private interface FloatUnaryOperator {
    float apply(float x);
  }

  private static Kernel floating(ResolvedOperation operation, FloatUnaryOperator function) {
    Elements elements = Elements.of(operation.view().output().type());
    long count = operation.outputShape(0).elementCount();
    return (inputs, outputs, scratch, work) -> {
      for (long i = 0; i < count; i++) {
        work.done(1);
        elements.setFloat(outputs[0], i, function.apply(elements.getFloat(inputs[0], i)));
      }
    };
  }

  /** A function from stored inputs to stored results. */
  static Kernel stored(ResolvedOperation operation, IntUnaryOperator function) {
    Elements elements = Elements.of(operation.view().output().type());
    long count = operation.outputShape(0).elementCount();
    return (inputs, outputs, scratch, work) -> {
      for (long i = 0; i < count; i++) {
        work.done(1);
        elements.setInt(outputs[0], i, function.applyAsInt(elements.getInt(inputs[0], i)));
      }
    };
  }
}
