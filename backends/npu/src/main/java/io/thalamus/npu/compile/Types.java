// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Shape;
import io.thalamus.npu.command.Command;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.IntRange;
import java.util.Optional;
import java.util.function.IntUnaryOperator;

/** The element types as the device sees them. Stateless. */
final class Types {
  /** The device counts sizes along an axis in 15 bits. */
  private static final int MAX_SIZE = (1 << 15) - 1;

  private Types() {}

  /** Returns the types that the device computes in. */
  static OperandCode[] all() {
    return new OperandCode[] {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_FLOAT16};
  }

  static boolean isFloat(OperandType type) {
    return type == TENSOR_FLOAT16;
  }

  static boolean isUnsigned(OperandType type) {
    return type == TENSOR_QUANT8_ASYMM;
  }

  /** The flags of commands on elements of a type. */
  static int flags(OperandType type) {
    return isFloat(type) ? Command.FLOAT16 : isUnsigned(type) ? Command.UNSIGNED : 0;
  }

  /** The least result, as commands name it. */
  static int min(Optional<IntRange> stored, FloatRange real) {
    return stored.map(IntRange::min).orElseGet(() -> Float.floatToIntBits(real.min()));
  }

  /** The largest result, as commands name it. */
  static int max(Optional<IntRange> stored, FloatRange real) {
    return stored.map(IntRange::max).orElseGet(() -> Float.floatToIntBits(real.max()));
  }

  /** Returns whether all dimensions can be counted by windows. */
  static boolean areSmall(Shape shape) {
    for (int i = 0; i < shape.rank(); i++) {
      if (shape.dimension(i) > MAX_SIZE) {
        return false;
      }
    }
    return true;
  }

  /** A function of stored values of a type as a table by byte. */
  static Constant table(OperandType type, IntUnaryOperator function) {
    byte[] table = new byte[256];
    for (int i = 0; i < table.length; i++) {
      table[i] = (byte) function.applyAsInt(isUnsigned(type) ? i : (byte) i);
    }
    return Constant.of(table);
  }
}
