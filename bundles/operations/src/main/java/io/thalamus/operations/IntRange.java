// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL;

import io.thalamus.model.OperandCode;

/** A closed range of stored integers. */
public record IntRange(int min, int max) {
  /** All values of a stored integer type. */
  public static IntRange of(OperandCode type) {
    return switch (type) {
      case TENSOR_QUANT8_ASYMM -> new IntRange(0, 255);
      case TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL ->
          new IntRange(Byte.MIN_VALUE, Byte.MAX_VALUE);
      case TENSOR_QUANT16_ASYMM -> new IntRange(0, 65535);
      case TENSOR_QUANT16_SYMM -> new IntRange(Short.MIN_VALUE, Short.MAX_VALUE);
      case TENSOR_INT32, INT32 -> new IntRange(Integer.MIN_VALUE, Integer.MAX_VALUE);
      default -> throw new IllegalArgumentException(type + " does not store integers");
    };
  }

  /** The nearest value in the range. */
  public int clamp(int value) {
    return Math.min(Math.max(value, min), max);
  }
}
