// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.KernelTable;
import io.thalamus.model.OperationCode;
import java.util.function.DoubleUnaryOperator;

/** Functions of one element; real ones are computed in double and rounded once. */
final class UnaryMath {
  private UnaryMath() {}

  static void register(KernelTable.Builder table) {
    floating(table, OperationCode.ABS, Math::abs);
    floating(table, OperationCode.NEG, x -> -x);
    floating(table, OperationCode.EXP, Math::exp);
    floating(table, OperationCode.LOG, Math::log);
    floating(table, OperationCode.SQRT, Math::sqrt);
    floating(table, OperationCode.RSQRT, x -> 1 / Math.sqrt(x));
    floating(table, OperationCode.SIN, Math::sin);
    floating(table, OperationCode.FLOOR, Math::floor);
    table
        .add(
            OperationCode.ABS,
            operation -> ElementKernels.stored(operation, Math::abs),
            TENSOR_INT32)
        .add(
            OperationCode.NEG, operation -> ElementKernels.stored(operation, x -> -x), TENSOR_INT32)
        .add(
            OperationCode.LOGICAL_NOT,
            operation -> ElementKernels.stored(operation, x -> x == 0 ? 1 : 0),
            TENSOR_BOOL8);
  }

  private static void floating(
      KernelTable.Builder table, OperationCode code, DoubleUnaryOperator function) {
    table.floats(
        code,
        operation -> ElementKernels.floating(operation, x -> (float) function.applyAsDouble(x)));
  }
}
