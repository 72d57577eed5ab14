// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationType;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.operations.extension.ThalamusExtension;

/**
 * Integers of 32 bits without a sign, whose bits INT32 holds. Sums and products are the same; what
 * depends on their order sees them with the highest bit turned, which INT32 orders as they are.
 */
final class Unsigned {
  private static final int HALF = 16;
  private static final double TWO_31 = 0x1p31;
  private static final int LAST_BIT = 31;

  private Unsigned() {}

  /** Returns whether a function of two values is another one than that of integers with a sign. */
  static boolean isOwn(Binary function) {
    return switch (function) {
      case ADD, SUB, MUL, EQUAL, NOT_EQUAL, AND, OR, POW -> false;
      default -> true;
    };
  }

  static Value binary(MathOps ops, Binary function, Value a, Value b) {
    return switch (function) {
      case DIV, FLOOR_DIV -> as(quotient(ops, as(ops, a), as(ops, b)), DataType.UINT32);
      case MAXIMUM, MINIMUM -> {
        Value chosen = ops.binary(function, turned(ops, a), turned(ops, b));
        yield as(xor(ops, chosen), DataType.UINT32);
      }
      default -> ops.binary(function, turned(ops, a), turned(ops, b));
    };
  }

  /** The same bits as integers of the other kind. */
  private static Value as(Value value, DataType type) {
    return Value.of(type, value.shape(), value.operand());
  }

  private static Value as(MathOps ops, Value value) {
    return ops.cast(value, DataType.INT32);
  }

  /** The numbers with the highest bit turned, as INT32. */
  static Value turned(MathOps ops, Value value) {
    return xor(ops, as(ops, value));
  }

  private static Value xor(MathOps ops, Value value) {
    return pair(ops, ThalamusExtension.BITWISE_XOR, value, lowest(ops));
  }

  private static Value lowest(MathOps ops) {
    return ops.number(DataType.INT32, Integer.MIN_VALUE);
  }

  /** An operation on INT32 with broadcasting. */
  static Value pair(MathOps ops, OperationType operation, Value a, Value b) {
    int[] shape = Dims.broadcast(a.shape(), b.shape());
    Emitter.require(shape != null, a.text() + " and " + b.text() + " do not broadcast");
    return ops.emit(DataType.INT32, operation, ops.operand(a), ops.operand(b)).as(shape);
  }

  private static Value number(MathOps ops, int value) {
    return ops.number(DataType.INT32, value);
  }

  private static Value isBelow(MathOps ops, Value value) {
    return ops.binary(Binary.LESS, value, number(ops, 0));
  }

  /** By one place, where the sign is turned away, then by the others. */
  static Value shifted(MathOps ops, Value value, Value by) {
    Value half = pair(ops, ThalamusExtension.RIGHT_SHIFT, value, number(ops, 1));
    Value once = ops.select(isBelow(ops, value), xor(ops, half), half);
    Value left = ops.max(ops.add(by, -1), 0);
    Value moved = pair(ops, ThalamusExtension.RIGHT_SHIFT, once, left);
    Value isNone = ops.binary(Binary.LESS_EQUAL, by, number(ops, 0));
    return ops.select(isNone, value, moved);
  }

  /**
   * Of a divisor below {@code 2^31} twice the quotient of half the dividend, and one more where the
   * rest is large enough; of another one 1 or 0.
   */
  private static Value quotient(MathOps ops, Value a, Value b) {
    Value half = shifted(ops, a, number(ops, 1));
    Value twice = ops.mul(ops.binary(Binary.FLOOR_DIV, half, b), 2);
    Value rest = ops.sub(a, ops.mul(twice, b));
    Value more = ops.cast(isNotLess(ops, rest, b), DataType.INT32);
    Value once = ops.cast(isNotLess(ops, a, b), DataType.INT32);
    return ops.select(isBelow(ops, b), once, ops.add(twice, more));
  }

  private static Value isNotLess(MathOps ops, Value a, Value b) {
    return ops.binary(Binary.GREATER_EQUAL, xor(ops, a), xor(ops, b));
  }

  /**
   * The numbers as reals, or as integers of 64 bits; of these, one that 32 bits do not hold ends
   * the execution with an error.
   */
  static Value cast(MathOps ops, Value value, DataType type) {
    Value whole = as(ops, value);
    Value high = pair(ops, ThalamusExtension.RIGHT_SHIFT, whole, number(ops, HALF));
    Value unsigned = ops.select(isBelow(ops, high), ops.add(high, 1 << HALF), high);
    Value scaled = ops.mul(ops.cast(unsigned, DataType.FLOAT), 1 << HALF);
    if (type.isFloat()) {
      Value low = ops.sub(whole, ops.mul(high, 1 << HALF));
      return ops.cast(ops.add(scaled, ops.cast(low, DataType.FLOAT)), type);
    }
    Value checked = ops.narrowed(scaled);
    return ops.cast(ops.add(whole, ops.mul(checked, 0)), type);
  }

  /** Reals whose fractions are cut off. */
  static Value ofReal(MathOps ops, Value real) {
    Value limit = ops.number(DataType.FLOAT, TWO_31);
    Value isLarge = ops.binary(Binary.GREATER_EQUAL, real, limit);
    Value least = ops.select(isLarge, ops.sub(real, limit), real);
    Value whole = ops.cast(least, DataType.INT32);
    return as(ops.select(isLarge, xor(ops, whole), whole), DataType.UINT32);
  }

  /** The powers of two that a shift to the left multiplies by; 0 where nothing is left. */
  static Value powers(MathOps ops, Value by) {
    double[] factors = new double[LAST_BIT + 2];
    for (int i = 0; i <= LAST_BIT; i++) {
      factors[i] = 1 << i;
    }
    Value table = ops.constant(DataType.INT32, new int[] {factors.length}, factors);
    Value place = ops.min(ops.max(by, 0), LAST_BIT + 1);
    return ops.gather(table, 0, place);
  }
}
