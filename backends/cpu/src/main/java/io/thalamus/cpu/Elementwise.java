// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.cpu.PairKernels.FloatBinaryOperator;
import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelFactory;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.Elementwise.QuantizedExtreme;
import io.thalamus.operations.Elementwise.QuantizedProduct;
import io.thalamus.operations.Elementwise.QuantizedSum;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.ResolvedOperation;
import java.util.function.IntBinaryOperator;

/** Functions of two tensors with broadcasting. */
final class Elementwise {
  private Elementwise() {}

  static void register(KernelTable.Builder table) {
    arithmetic(table, OperationCode.ADD, (a, b) -> a + b, (a, b) -> a + b);
    arithmetic(table, OperationCode.SUB, (a, b) -> a - b, (a, b) -> a - b);
    arithmetic(table, OperationCode.MUL, (a, b) -> a * b, (a, b) -> a * b);
    arithmetic(table, OperationCode.DIV, (a, b) -> a / b, Elementwise::floorDivide);
    stored(table, OperationCode.ADD, Elementwise::sum);
    stored(table, OperationCode.SUB, Elementwise::sum);
    stored(table, OperationCode.MUL, Elementwise::product);
    extreme(table, OperationCode.MAXIMUM, Math::max, Math::max);
    extreme(table, OperationCode.MINIMUM, Math::min, Math::min);
    floating(table, OperationCode.POW, (a, b) -> (float) Math.pow(a, b));
  }

  private static void arithmetic(
      KernelTable.Builder table,
      OperationCode code,
      FloatBinaryOperator onFloats,
      IntBinaryOperator onInts) {
    table
        .floats(
            code,
            operation -> {
              FloatRange range = operation.parameters(Plain.class).activation().range();
              return PairKernels.floating(operation, (a, b) -> range.clamp(onFloats.apply(a, b)));
            })
        .add(code, operation -> PairKernels.stored(operation, onInts), TENSOR_INT32);
  }

  /** Rounded down, as in AOSP; division by 0, which NNAPI leaves open, gives 0 as there. */
  private static int floorDivide(int a, int b) {
    return b == 0 ? 0 : Math.floorDiv(a, b);
  }

  /** ADD; and SUB, whose second factor is negative. */
  private static Kernel sum(ResolvedOperation operation) {
    QuantizedSum sum = operation.parameters(QuantizedSum.class);
    return PairKernels.quantized(
        operation,
        sum.activation(),
        (a, b) -> {
          int x = sum.input1().apply(a << sum.leftShift());
          int y = sum.input2().apply(b << sum.leftShift());
          return sum.output().apply(x + y);
        });
  }

  private static Kernel product(ResolvedOperation operation) {
    QuantizedProduct product = operation.parameters(QuantizedProduct.class);
    return PairKernels.quantized(
        operation, product.activation(), (a, b) -> product.output().apply(a * b));
  }

  private static void extreme(
      KernelTable.Builder table,
      OperationCode code,
      FloatBinaryOperator onFloats,
      IntBinaryOperator onInts) {
    floating(table, code, onFloats);
    table.add(code, operation -> PairKernels.stored(operation, onInts), TENSOR_INT32);
    stored(
        table,
        code,
        operation -> {
          QuantizedExtreme tables = operation.parameters(QuantizedExtreme.class);
          return PairKernels.stored(
              operation,
              (a, b) -> onInts.applyAsInt(tables.first().apply(a), tables.second().apply(b)));
        });
  }

  private static void floating(
      KernelTable.Builder table, OperationCode code, FloatBinaryOperator function) {
    table.floats(code, operation -> PairKernels.floating(operation, function));
  }

  private static void stored(KernelTable.Builder table, OperationCode code, KernelFactory factory) {
    table.quantized8(code, factory);
  }
}
