// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.operations.OperandView;
import java.lang.foreign.MemorySegment;

/**
 * Reads elements of any type as double, which holds all of them exactly: for operations that only
 * compare.
 */
@FunctionalInterface
interface NumberReader {
  double get(MemorySegment segment, long index);

  /** Elements as they are stored. */
  static NumberReader stored(OperandType type) {
    return Elements.of(type)::getDouble;
  }

  /** Elements as the numbers that they stand for; scaled in float, as NNAPI does it. */
  static NumberReader real(OperandView operand) {
    if (operand.type() != OperandCode.TENSOR_QUANT8_ASYMM
        && operand.type() != OperandCode.TENSOR_QUANT8_ASYMM_SIGNED) {
      return stored(operand.type());
    }
    Elements elements = Elements.of(operand.type());
    int zeroPoint = operand.zeroPoint();
    float scale = operand.scale();
    return (segment, index) -> (elements.getInt(segment, index) - zeroPoint) * scale;
  }
}
