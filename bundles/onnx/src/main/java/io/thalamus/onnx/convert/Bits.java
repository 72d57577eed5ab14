// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.operations.extension.ThalamusExtension;

/**
 * Operators on the bits of integers, made of the two that the extension has: {@code 2 * (a & b)} is
 * {@code a + b - (a ^ b)}, which is computed of each half, so that no sum is beyond 32 bits.
 */
final class Bits {
  private static final int HALF = 16;

  private Bits() {}

  static void addTo(Converters table) {
    table.add("BitwiseXor", node -> node.out(of(node, Bits::xor)));
    table.add("BitwiseAnd", node -> node.out(of(node, Bits::and)));
    table.add(
        "BitwiseOr",
        node -> node.out(of(node, (ops, a, b) -> ops.add(xor(ops, a, b), and(ops, a, b)))));
    table.add("BitwiseNot", Bits::not);
    table.add("BitShift", Bits::shift);
    table.add(Fused.DOMAIN + "MurmurHash3", Bits::hash);
  }

  @FunctionalInterface
  private interface Function {
    Value of(Ops ops, Value a, Value b);
  }

  private static Value of(Node node, Function function) {
    Ops ops = node.ops();
    Value a = node.in(0);
    Value b = node.in(1);
    node.require(
        a.type() == b.type() && !a.type().isFloat() && a.type() != DataType.BOOL,
        "its inputs are " + a.type() + " and " + b.type());
    Value result = function.of(ops, ops.cast(a, DataType.INT32), ops.cast(b, DataType.INT32));
    return ops.cast(result, a.type());
  }

  private static Value xor(Ops ops, Value a, Value b) {
    return Unsigned.pair(ops, ThalamusExtension.BITWISE_XOR, a, b);
  }

  private static Value right(Ops ops, Value value, int by) {
    return Unsigned.pair(ops, ThalamusExtension.RIGHT_SHIFT, value, ops.number(DataType.INT32, by));
  }

  private static Value and(Ops ops, Value a, Value b) {
    Value highA = right(ops, a, HALF);
    Value highB = right(ops, b, HALF);
    Value high = ops.mul(andOfHalves(ops, highA, highB), 1 << HALF);
    Value lowA = ops.sub(a, ops.mul(highA, 1 << HALF));
    Value lowB = ops.sub(b, ops.mul(highB, 1 << HALF));
    return ops.add(high, andOfHalves(ops, lowA, lowB));
  }

  private static Value andOfHalves(Ops ops, Value a, Value b) {
    return right(ops, ops.sub(ops.add(a, b), xor(ops, a, b)), 1);
  }

  private static void not(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    DataType type = value.type();
    node.require(
        !type.isFloat() && type != DataType.BOOL && type != DataType.UINT64,
        "its input is " + type);
    boolean isUnsigned = type == DataType.UINT8 || type == DataType.UINT16;
    Value all = ops.number(DataType.INT32, isUnsigned ? type.elements().most() : -1);
    node.out(ops.cast(ops.sub(all, ops.cast(value, DataType.INT32)), type));
  }

  private static void shift(Node node) {
    Ops ops = node.ops();
    Value value = node.in(0);
    DataType type = value.type();
    boolean isRight = node.text("direction", "").equals("RIGHT");
    node.require(!type.isFloat() && type != DataType.BOOL, "it shifts " + type);
    Value wide = ops.cast(value, DataType.INT32);
    Value by = ops.cast(node.in(1), DataType.INT32);
    if (!isRight) {
      node.out(ops.cast(ops.mul(wide, Unsigned.powers(ops, by)), type));
      return;
    }
    Value moved =
        type == DataType.UINT32
            ? Unsigned.shifted(ops, wide, by)
            : Unsigned.pair(ops, ThalamusExtension.RIGHT_SHIFT, wide, by);
    node.out(ops.cast(moved, type));
  }

  /** The 32-bit MurmurHash3 of numbers of four bytes each, by its published steps. */
  private static void hash(Node node) {
    Ops ops = node.ops();
    DataType type = node.in(0).type();
    node.require(
        type == DataType.INT32 || type == DataType.UINT32, "it mixes the bytes of " + type);
    Value block = ops.mul(ops.cast(node.in(0), DataType.INT32), 0xcc9e2d51);
    block = ops.mul(turned(ops, block, 15), 0x1b873593);
    Value seed = ops.number(DataType.INT32, node.setting("seed", 0));
    Value mixed = turned(ops, xor(ops, block, seed), 13);
    mixed = ops.add(ops.mul(mixed, 5), 0xe6546b64);
    mixed = xor(ops, mixed, ops.number(DataType.INT32, Integer.BYTES));
    mixed = ops.mul(xor(ops, mixed, unsigned(ops, mixed, 16)), 0x85ebca6b);
    mixed = ops.mul(xor(ops, mixed, unsigned(ops, mixed, 13)), 0xc2b2ae35);
    mixed = xor(ops, mixed, unsigned(ops, mixed, 16));
    node.out(ops.cast(mixed, node.flag("positive", true) ? DataType.UINT32 : DataType.INT32));
  }

  private static Value turned(Ops ops, Value value, int by) {
    return ops.add(ops.mul(value, 1 << by), unsigned(ops, value, Integer.SIZE - by));
  }

  private static Value unsigned(Ops ops, Value value, int by) {
    return Unsigned.shifted(ops, value, ops.number(DataType.INT32, by));
  }
}
