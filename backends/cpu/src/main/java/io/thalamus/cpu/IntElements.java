// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.WorkMeter;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Reads and writes the stored integers of a type as int. */
public enum IntElements {
  UNSIGNED8 {
    @Override
    public int get(MemorySegment segment, long index) {
      return segment.get(ValueLayout.JAVA_BYTE, index) & 0xFF;
    }

    @Override
    public void set(MemorySegment segment, long index, int value) {
      segment.set(ValueLayout.JAVA_BYTE, index, (byte) value);
    }
  },
  SIGNED8 {
    @Override
    public int get(MemorySegment segment, long index) {
      return segment.get(ValueLayout.JAVA_BYTE, index);
    }

    @Override
    public void set(MemorySegment segment, long index, int value) {
      segment.set(ValueLayout.JAVA_BYTE, index, (byte) value);
    }
  },
  UNSIGNED16 {
    @Override
    public int get(MemorySegment segment, long index) {
      return segment.getAtIndex(SHORT, index) & 0xFFFF;
    }

    @Override
    public void set(MemorySegment segment, long index, int value) {
      segment.setAtIndex(SHORT, index, (short) value);
    }
  },
  SIGNED16 {
    @Override
    public int get(MemorySegment segment, long index) {
      return segment.getAtIndex(SHORT, index);
    }

    @Override
    public void set(MemorySegment segment, long index, int value) {
      segment.setAtIndex(SHORT, index, (short) value);
    }
  },
  SIGNED32 {
    @Override
    public int get(MemorySegment segment, long index) {
      return segment.getAtIndex(INT, index);
    }

    @Override
    public void set(MemorySegment segment, long index, int value) {
      segment.setAtIndex(INT, index, value);
    }
  };

  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** For a type that stores integers or booleans. */
  public static IntElements of(OperandType type) {
    return switch ((OperandCode) type) {
      case TENSOR_QUANT8_ASYMM, TENSOR_BOOL8, BOOL -> UNSIGNED8;
      case TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL ->
          SIGNED8;
      case TENSOR_QUANT16_ASYMM -> UNSIGNED16;
      case TENSOR_QUANT16_SYMM -> SIGNED16;
      case TENSOR_INT32, INT32, UINT32 -> SIGNED32;
      default -> throw new IllegalArgumentException(type.text() + " does not store integers");
    };
  }

  public abstract int get(MemorySegment segment, long index);

  /** Writes all elements, less a zero point, as native ints to an index of another segment. */
  public void widen(
      WorkMeter work,
      MemorySegment from,
      int zeroPoint,
      long count,
      MemorySegment to,
      long toIndex) {
    for (long i = 0; i < count; i++) {
      work.done(1);
      to.setAtIndex(ValueLayout.JAVA_INT, toIndex + i, get(from, i) - zeroPoint);
    }
  }

  public abstract void set(MemorySegment segment, long index, int value);
}
