// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ResolvedOperation;
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
        .add(OperationCode.ABS, operation -> Activation.stored(operation, Math::abs), TENSOR_INT32)
        .add(OperationCode.NEG, operation -> Activation.stored(operation, x -> -x), TENSOR_INT32)
        .add(
            OperationCode.LOGICAL_NOT,
            operation -> Activation.stored(operation, x -> x == 0 ? 1 : 0),
            TENSOR_BOOL8);
  }

  private static void floating(
      KernelTable.Builder table, OperationCode code, DoubleUnaryOperator function) {
    table.add(code, operation -> floating(operation, function), ElementTypes.floats());
  }

  private static Kernel floating(ResolvedOperation operation, DoubleUnaryOperator function) {
    Elements elements = Elements.of(operation.view().output().type());
    long count = operation.outputShape(0).elementCount();
    return (inputs, outputs, scratch, work) -> {
      for (long i = 0; i < count; i++) {
        work.done(1);
        elements.setFloat(
            outputs[0], i, (float) function.applyAsDouble(elements.getFloat(inputs[0], i)));
      }
    };
  }
}
