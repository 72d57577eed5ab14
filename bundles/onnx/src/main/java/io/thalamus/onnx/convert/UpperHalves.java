// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.DataType;
import io.thalamus.operations.extension.ThalamusExtension;

/**
 * BFLOAT16 at inputs and outputs, where it is the upper half of a FLOAT in 16 bits; graphs compute
 * with FLOATs. Stateless.
 */
final class UpperHalves {
  private static final int HALF = 16;
  private static final int BELOW_HALF = (1 << HALF - 1) - 1;

  private UpperHalves() {}

  /** The reals of which a UINT16 value is the upper halves. */
  static Value reals(Ops ops, Value halves) {
    Value bits = ops.mul(ops.cast(halves, DataType.INT32), 1 << HALF);
    Value reals = ops.emit(DataType.FLOAT, ThalamusExtension.BITCAST, ops.operand(bits));
    return reals.as(halves.shape());
  }

  /** The upper halves of the nearest reals that have nothing below, as UINT16; halves to even. */
  static Value of(Ops ops, Value value) {
    Value real = ops.cast(value, DataType.FLOAT);
    Value cast = ops.emit(DataType.INT32, ThalamusExtension.BITCAST, ops.operand(real));
    Value bits = cast.as(value.shape());
    Value upper = shifted(ops, bits, HALF);
    Value isOdd = ops.sub(upper, ops.mul(shifted(ops, upper, 1), 2));
    Value rounded = shifted(ops, ops.add(ops.add(bits, BELOW_HALF), isOdd), HALF);
    Value isBelow = ops.binary(Binary.LESS, rounded, ops.number(DataType.INT32, 0));
    Value unsigned = ops.select(isBelow, ops.add(rounded, 1 << HALF), rounded);
    return Value.of(DataType.UINT16, value.shape(), ops.operand(unsigned));
  }

  private static Value shifted(Ops ops, Value value, int by) {
    return Unsigned.pair(ops, ThalamusExtension.RIGHT_SHIFT, value, ops.number(DataType.INT32, by));
  }
}
