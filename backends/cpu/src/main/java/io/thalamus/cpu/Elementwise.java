// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.Elementwise.QuantizedProduct;
import io.thalamus.operations.Elementwise.QuantizedSum;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.ResolvedOperation;
import java.util.function.IntBinaryOperator;

/** Arithmetic on two tensors with broadcasting. */
final class Elementwise {
  private Elementwise() {}

  static void register(KernelTable.Builder table) {
    table
        .add(
            OperationCode.ADD,
            operation -> floating(operation, (a, b) -> a + b),
            TENSOR_FLOAT32,
            TENSOR_FLOAT16)
        .add(
            OperationCode.ADD,
            Elementwise::quantizedSum,
            TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED)
        .add(OperationCode.ADD, operation -> integers(operation, (a, b) -> a + b), TENSOR_INT32)
        .add(
            OperationCode.MUL,
            operation -> floating(operation, (a, b) -> a * b),
            TENSOR_FLOAT32,
            TENSOR_FLOAT16)
        .add(
            OperationCode.MUL,
            Elementwise::quantizedProduct,
            TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED)
        .add(OperationCode.MUL, operation -> integers(operation, (a, b) -> a * b), TENSOR_INT32);
  }

  /** A function of two floats. */
  @FunctionalInterface
  private interface FloatBinaryOperator {
    float apply(float a, float b);
  }

  private static Kernel floating(ResolvedOperation operation, FloatBinaryOperator function) {
    FloatElements elements = FloatElements.of(operation.view().output().type());
    FloatRange range = operation.parameters(Plain.class).activation().range();
    BroadcastPairs pairs = BroadcastPairs.of(operation);
    return (inputs, outputs, scratch) ->
        pairs.forEach(
            (a, b, result) ->
                elements.set(
                    outputs[0],
                    result,
                    range.clamp(
                        function.apply(elements.get(inputs[0], a), elements.get(inputs[1], b)))));
  }

  private static Kernel integers(ResolvedOperation operation, IntBinaryOperator function) {
    IntElements elements = IntElements.SIGNED32;
    FloatRange range = operation.parameters(Plain.class).activation().range();
    int min = (int) range.min();
    int max = (int) range.max();
    BroadcastPairs pairs = BroadcastPairs.of(operation);
    return (inputs, outputs, scratch) ->
        pairs.forEach(
            (a, b, result) ->
                elements.set(
                    outputs[0],
                    result,
                    Math.clamp(
                        function.applyAsInt(elements.get(inputs[0], a), elements.get(inputs[1], b)),
                        min,
                        max)));
  }

  private static Kernel quantizedSum(ResolvedOperation operation) {
    QuantizedSum sum = operation.parameters(QuantizedSum.class);
    return quantized(
        operation,
        (a, b) -> {
          int x = sum.input1().apply(a << sum.leftShift());
          int y = sum.input2().apply(b << sum.leftShift());
          return sum.output().apply(x + y);
        },
        sum.activation()::clamp);
  }

  private static Kernel quantizedProduct(ResolvedOperation operation) {
    QuantizedProduct product = operation.parameters(QuantizedProduct.class);
    return quantized(
        operation, (a, b) -> product.output().apply(a * b), product.activation()::clamp);
  }

  /** A function of stored values less their zero points; the output's zero point is added. */
  private static Kernel quantized(
      ResolvedOperation operation,
      IntBinaryOperator function,
      java.util.function.IntUnaryOperator clamp) {
    OperandView first = operation.view().input(0);
    OperandView second = operation.view().input(1);
    int outputZeroPoint = operation.view().output().zeroPoint();
    IntElements elements = IntElements.of(operation.view().output().type());
    BroadcastPairs pairs = BroadcastPairs.of(operation);
    return (inputs, outputs, scratch) ->
        pairs.forEach(
            (a, b, result) -> {
              int value =
                  function.applyAsInt(
                      elements.get(inputs[0], a) - first.zeroPoint(),
                      elements.get(inputs[1], b) - second.zeroPoint());
              elements.set(outputs[0], result, clamp.applyAsInt(value + outputZeroPoint));
            });
  }
}
