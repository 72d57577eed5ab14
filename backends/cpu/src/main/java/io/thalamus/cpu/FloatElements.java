// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.WorkMeter;
import io.thalamus.model.OperandType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Reads and writes the elements of a floating-point type as float. */
public enum FloatElements {
  FLOAT32 {
    @Override
    public float get(MemorySegment segment, long index) {
      return segment.getAtIndex(FLOAT, index);
    }

    @Override
    public void set(MemorySegment segment, long index, float value) {
      segment.setAtIndex(FLOAT, index, value);
    }
  },
  FLOAT16 {
    @Override
    public float get(MemorySegment segment, long index) {
      return Float.float16ToFloat(segment.getAtIndex(SHORT, index));
    }

    @Override
    public void set(MemorySegment segment, long index, float value) {
      segment.setAtIndex(SHORT, index, Float.floatToFloat16(value));
    }
  };

  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** For a floating-point type, told by the size of its elements. */
  public static FloatElements of(OperandType type) {
    return type.elementSize() == Float.BYTES ? FLOAT32 : FLOAT16;
  }

  public abstract float get(MemorySegment segment, long index);

  /** Writes all elements as native floats to an index of another segment. */
  public void widen(
      WorkMeter work, MemorySegment from, long count, MemorySegment to, long toIndex) {
    for (long i = 0; i < count; i++) {
      work.done(1);
      to.setAtIndex(ValueLayout.JAVA_FLOAT, toIndex + i, get(from, i));
    }
  }

  public abstract void set(MemorySegment segment, long index, float value);
}
