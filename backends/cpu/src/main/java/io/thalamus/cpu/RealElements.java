// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperandView;
import java.lang.foreign.MemorySegment;

/**
 * Reads and writes the elements of an operand as the real numbers that they stand for: for
 * operations that NNAPI computes in float whatever the type.
 */
interface RealElements {
  float get(MemorySegment segment, long index);

  void set(MemorySegment segment, long index, float value);

  /** For floats or quantized integers. */
  static RealElements of(OperandView operand) {
    if (operand.type() == TENSOR_FLOAT32 || operand.type() == TENSOR_FLOAT16) {
      Elements elements = Elements.of(operand.type());
      return new RealElements() {
        @Override
        public float get(MemorySegment segment, long index) {
          return elements.getFloat(segment, index);
        }

        @Override
        public void set(MemorySegment segment, long index, float value) {
          elements.setFloat(segment, index, value);
        }
      };
    }
    Elements elements = Elements.of(operand.type());
    IntRange range = IntRange.of((OperandCode) operand.type());
    float scale = operand.scale();
    int zeroPoint = operand.zeroPoint();
    return new RealElements() {
      @Override
      public float get(MemorySegment segment, long index) {
        return (elements.getInt(segment, index) - zeroPoint) * scale;
      }

      @Override
      public void set(MemorySegment segment, long index, float value) {
        // Counted from the least stored value, so that signed and unsigned types round alike.
        double counted = value / scale + zeroPoint - range.min();
        double rounded = Math.floor(counted + 0.5) + range.min();
        elements.setInt(segment, index, (int) Math.clamp(rounded, range.min(), range.max()));
      }
    };
  }
}
