// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationType;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.ThalamusExtension;

/**
 * Operators on the bits of integers, made of the two that the extension has: {@code 2 * (a & b)} is
 * {@code a + b - (a ^ b)}, which is computed of each half, so that no sum is beyond 32 bits.
 */
final class Bits {
  private static final int HALF = 16;
  private static final int BITS = 8;

  private Bits() {}

  static void addTo(Converters table) {
    table.add("BitwiseXor", node -> node.out(of(node, Bits::xor)));
    table.add("BitwiseAnd", node -> node.out(of(node, Bits::and)));
    table.add(
        "BitwiseOr",
        node -> node.out(of(node, (ops, a, b) -> ops.add(xor(ops, a, b), and(ops, a, b)))));
    table.add("BitwiseNot", Bits::not);
    table.add("BitShift", Bits::shift);
  }

  @FunctionalInterface
  private interface Function {
    Value of(Ops ops, Value a, Value b) throws ModelFormatException;
  }

  private static Value of(Node node, Function function) throws ModelFormatException {
    Ops ops = node.ops();
    Value a = node.in(0);
    Value b = node.in(1);
    node.require(
        a.type() == b.type() && !a.type().isFloat() && a.type() != DataType.BOOL,
        "its inputs are " + a.type() + " and " + b.type());
    Value result = function.of(ops, ops.cast(a, DataType.INT32), ops.cast(b, DataType.INT32));
    return ops.cast(result, a.type());
  }

  private static Value pair(Ops ops, OperationType operation, Value a, Value b)
      throws ModelFormatException {
    int[] shape = Dims.broadcast(a.shape(), b.shape());
    Emitter.require(shape != null, a.text() + " and " + b.text() + " do not broadcast");
    return Emitter.as(ops.emit(DataType.INT32, operation, ops.operand(a), ops.operand(b)), shape);
  }

  private static Value xor(Ops ops, Value a, Value b) throws ModelFormatException {
    return pair(ops, ThalamusExtension.BITWISE_XOR, a, b);
  }

  private static Value right(Ops ops, Value value, int by) throws ModelFormatException {
    return pair(ops, ThalamusExtension.RIGHT_SHIFT, value, ops.number(DataType.INT32, by));
  }

  private static Value and(Ops ops, Value a, Value b) throws ModelFormatException {
    Value highA = right(ops, a, HALF);
    Value highB = right(ops, b, HALF);
    Value high = ops.mul(andOfHalves(ops, highA, highB), 1 << HALF);
    Value lowA = ops.sub(a, ops.mul(highA, 1 << HALF));
    Value lowB = ops.sub(b, ops.mul(highB, 1 << HALF));
    return ops.add(high, andOfHalves(ops, lowA, lowB));
  }

  private static Value andOfHalves(Ops ops, Value a, Value b) throws ModelFormatException {
    return right(ops, ops.sub(ops.add(a, b), xor(ops, a, b)), 1);
  }

  private static void not(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.in(0);
    boolean isUnsigned = value.type() == DataType.UINT8;
    node.require(
        !value.type().isFloat() && value.type() != DataType.BOOL, "its input is " + value.type());
    Value all = ops.number(DataType.INT32, isUnsigned ? 255 : -1);
    node.out(ops.cast(ops.sub(all, ops.cast(value, DataType.INT32)), value.type()));
  }

  private static void shift(Node node) throws ModelFormatException {
    Ops ops = node.ops();
    Value value = node.in(0);
    node.require(value.type() == DataType.UINT8, "it shifts " + value.type());
    Value wide = ops.cast(value, DataType.INT32);
    if (node.text("direction", "").equals("RIGHT")) {
      Value by = ops.cast(node.in(1), DataType.INT32);
      node.out(ops.cast(pair(ops, ThalamusExtension.RIGHT_SHIFT, wide, by), value.type()));
      return;
    }
    int[] by = node.ints(1);
    double[] factors = ops.budget().doubles(by.length);
    for (int i = 0; i < by.length; i++) {
      factors[i] = by[i] < 0 || by[i] >= BITS ? 0 : 1 << by[i];
    }
    Value factor = ops.constant(DataType.INT32, node.in(1).shape(), factors);
    node.out(ops.cast(ops.mul(wide, factor), value.type()));
  }
}
