// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Activation.Exponential;
import io.thalamus.operations.Activation.QuantizedPrelu;
import io.thalamus.operations.Activation.Range;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.LookupTable;
import io.thalamus.operations.ResolvedOperation;
import java.util.List;

/** Functions that bend a single value. */
final class Activation {
  private Activation() {}

  static void register(KernelTable.Builder table) {
    for (OperationCode clamp :
        List.of(OperationCode.RELU, OperationCode.RELU1, OperationCode.RELU6)) {
      table
          .floats(
              clamp,
              operation -> {
                FloatRange range = operation.parameters(Range.class).real();
                return ElementKernels.floating(operation, range::clamp);
              })
          .quantized8(
              clamp,
              operation -> {
                IntRange range = operation.parameters(Range.class).stored().orElseThrow();
                return ElementKernels.stored(operation, range::clamp);
              });
    }
    table
        .floats(
            OperationCode.LOGISTIC,
            operation -> ElementKernels.floating(operation, x -> (float) (1 / (1 + Math.exp(-x)))))
        .floats(
            OperationCode.TANH,
            operation -> ElementKernels.floating(operation, x -> (float) Math.tanh(x)))
        .floats(
            OperationCode.ELU,
            operation -> {
              float alpha = operation.parameters(Exponential.class).alpha();
              return ElementKernels.floating(operation, x -> elu(x, alpha));
            })
        .floats(
            OperationCode.HARD_SWISH,
            operation -> ElementKernels.floating(operation, x -> x * Math.clamp(x + 3, 0f, 6f) / 6))
        .floats(
            OperationCode.PRELU,
            operation -> PairKernels.floating(operation, (x, alpha) -> x < 0 ? x * alpha : x))
        .quantized8(OperationCode.PRELU, Activation::quantizedPrelu);
    for (OperationCode looked :
        List.of(OperationCode.LOGISTIC, OperationCode.TANH, OperationCode.HARD_SWISH)) {
      table.quantized8(
          looked,
          operation ->
              ElementKernels.stored(operation, operation.parameters(LookupTable.class)::apply));
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
}
