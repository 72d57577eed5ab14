// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.cpu.ElementKernels;
import io.thalamus.cpu.PairKernels;
import io.thalamus.cpu.PairKernels.FloatBinaryOperator;
import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelException;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.Elementwise.Even;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Requantization;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.Elementwise.QuantizedSquare;
import io.thalamus.operations.extension.Elementwise.Rescaled;
import io.thalamus.operations.extension.ThalamusExtension;

/** Functions of two tensors with broadcasting, and of one with a factor. */
final class Elementwise {
  private Elementwise() {}

  static void register(KernelTable.Builder table) {
    table
        .floats(
            ThalamusExtension.SQUARED_DIFFERENCE,
            operation -> PairKernels.floating(operation, (a, b) -> (a - b) * (a - b)))
        .add(
            ThalamusExtension.SQUARED_DIFFERENCE,
            operation -> PairKernels.stored(operation, (a, b) -> (a - b) * (a - b)),
            TENSOR_INT32)
        .quantized8(ThalamusExtension.SQUARED_DIFFERENCE, Elementwise::quantizedSquaredDifference)
        .floats(
            ThalamusExtension.FLOOR_DIV,
            operation -> PairKernels.floating(operation, (a, b) -> (float) Math.floor(a / b)))
        .add(
            ThalamusExtension.FLOOR_DIV,
            operation -> PairKernels.stored(operation, Elementwise::floorDivide),
            TENSOR_INT32)
        .floats(
            ThalamusExtension.ATAN2,
            operation -> PairKernels.floating(operation, (a, b) -> (float) Math.atan2(a, b)))
        .add(
            ThalamusExtension.BITWISE_XOR,
            operation -> PairKernels.stored(operation, (a, b) -> a ^ b),
            TENSOR_INT32)
        .add(
            ThalamusExtension.RIGHT_SHIFT,
            operation -> PairKernels.stored(operation, (a, b) -> a >> Math.clamp(b, 0, 31)),
            TENSOR_INT32)
        .add(
            ThalamusExtension.RESCALE,
            operation ->
                ElementKernels.stored(operation, operation.parameters(Rescaled.class)::apply),
            ElementTypes.rescalable());
    even(table, ThalamusExtension.ADD, Float::sum);
    even(table, ThalamusExtension.SUB, (a, b) -> a - b);
    even(table, ThalamusExtension.MUL, (a, b) -> a * b);
  }

  /** Real numbers, divided by the scale and rounded to the even one of two neighbours. */
  private static void even(
      KernelTable.Builder table, OperationType type, FloatBinaryOperator function) {
    table.quantized8(
        type,
        operation -> {
          OperationView view = operation.view();
          float first = view.input(0).scale();
          float second = view.input(1).scale();
          float scale = view.output().scale();
          float largest = Requantization.LARGEST;
          return PairKernels.quantized(
              operation,
              operation.parameters(Even.class).activation(),
              (a, b) -> {
                float steps = function.apply(a * first, b * second) / scale;
                return (int) Math.rint(Math.clamp(steps, -largest, largest));
              });
        });
  }

  private static int floorDivide(int a, int b) {
    if (b == 0) {
      throw new KernelException("an integer is divided by zero");
    }
    return Math.floorDiv(a, b);
  }

  private static Kernel quantizedSquaredDifference(ResolvedOperation operation) {
    QuantizedSquare square = operation.parameters(QuantizedSquare.class);
    IntRange range = IntRange.of((OperandCode) operation.view().output().type());
    return PairKernels.quantized(operation, range, square::apply);
  }
}
