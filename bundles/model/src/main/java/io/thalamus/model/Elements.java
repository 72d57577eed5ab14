// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import static io.thalamus.model.LittleEndian.DOUBLE;
import static io.thalamus.model.LittleEndian.FLOAT;
import static io.thalamus.model.LittleEndian.INT;
import static io.thalamus.model.LittleEndian.LONG;
import static io.thalamus.model.LittleEndian.SHORT;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/**
 * The formats of single elements, with access to them: little-endian, without padding, at any
 * alignment. Stateless. The formats of operands are found by {@link #of}; those of {@link
 * WideTypes} are among them.
 *
 * <p>A double holds each element exactly, those of {@link #INT64} beyond 2^53 aside. Values are
 * converted as Java's casts do it: a float is rounded to the nearest one, an integer keeps its low
 * bits. Quantized formats give the stored integers.
 *
 * <p>Constants have bodies of their own, instead of switches, because the JVM then inlines the
 * access of a loop that meets one format.
 */
public enum Elements {
  FLOAT32(Float.BYTES, -Float.MAX_VALUE, Float.MAX_VALUE) {
    @Override
    public float getFloat(MemorySegment segment, long index) {
      return segment.getAtIndex(FLOAT, index);
    }

    @Override
    public void setFloat(MemorySegment segment, long index, float value) {
      segment.setAtIndex(FLOAT, index, value);
    }

    @Override
    public double getDouble(MemorySegment segment, long index) {
      return getFloat(segment, index);
    }

    @Override
    public void setDouble(MemorySegment segment, long index, double value) {
      setFloat(segment, index, (float) value);
    }
  },
  FLOAT16(Short.BYTES, -65504, 65504) {
    @Override
    public float getFloat(MemorySegment segment, long index) {
      return Float.float16ToFloat(segment.getAtIndex(SHORT, index));
    }

    @Override
    public void setFloat(MemorySegment segment, long index, float value) {
      segment.setAtIndex(SHORT, index, Float.floatToFloat16(value));
    }

    @Override
    public double getDouble(MemorySegment segment, long index) {
      return getFloat(segment, index);
    }

    @Override
    public void setDouble(MemorySegment segment, long index, double value) {
      setFloat(segment, index, (float) value);
    }
  },
  FLOAT64(Double.BYTES, -Double.MAX_VALUE, Double.MAX_VALUE) {
    @Override
    public double getDouble(MemorySegment segment, long index) {
      return segment.getAtIndex(DOUBLE, index);
    }

    @Override
    public void setDouble(MemorySegment segment, long index, double value) {
      segment.setAtIndex(DOUBLE, index, value);
    }
  },
  INT8(Byte.BYTES, Byte.MIN_VALUE, Byte.MAX_VALUE) {
    @Override
    public int getInt(MemorySegment segment, long index) {
      return segment.get(ValueLayout.JAVA_BYTE, index);
    }

    @Override
    public void setInt(MemorySegment segment, long index, int value) {
      segment.set(ValueLayout.JAVA_BYTE, index, (byte) value);
    }
  },
  UINT8(Byte.BYTES, 0, 0xFF) {
    @Override
    public int getInt(MemorySegment segment, long index) {
      return segment.get(ValueLayout.JAVA_BYTE, index) & 0xFF;
    }

    @Override
    public void setInt(MemorySegment segment, long index, int value) {
      segment.set(ValueLayout.JAVA_BYTE, index, (byte) value);
    }
  },
  INT16(Short.BYTES, Short.MIN_VALUE, Short.MAX_VALUE) {
    @Override
    public int getInt(MemorySegment segment, long index) {
      return segment.getAtIndex(SHORT, index);
    }

    @Override
    public void setInt(MemorySegment segment, long index, int value) {
      segment.setAtIndex(SHORT, index, (short) value);
    }
  },
  UINT16(Short.BYTES, 0, 0xFFFF) {
    @Override
    public int getInt(MemorySegment segment, long index) {
      return segment.getAtIndex(SHORT, index) & 0xFFFF;
    }

    @Override
    public void setInt(MemorySegment segment, long index, int value) {
      segment.setAtIndex(SHORT, index, (short) value);
    }
  },
  INT32(Integer.BYTES, Integer.MIN_VALUE, Integer.MAX_VALUE) {
    @Override
    public int getInt(MemorySegment segment, long index) {
      return segment.getAtIndex(INT, index);
    }

    @Override
    public void setInt(MemorySegment segment, long index, int value) {
      segment.setAtIndex(INT, index, value);
    }
  },
  /** As an int: its bits. */
  UINT32(Integer.BYTES, 0, 0xFFFF_FFFFL) {
    @Override
    public int getInt(MemorySegment segment, long index) {
      return segment.getAtIndex(INT, index);
    }

    @Override
    public void setInt(MemorySegment segment, long index, int value) {
      segment.setAtIndex(INT, index, value);
    }

    @Override
    public double getDouble(MemorySegment segment, long index) {
      return Integer.toUnsignedLong(getInt(segment, index));
    }
  },
  INT64(Long.BYTES, Long.MIN_VALUE, Long.MAX_VALUE) {
    @Override
    public double getDouble(MemorySegment segment, long index) {
      return segment.getAtIndex(LONG, index);
    }

    @Override
    public void setDouble(MemorySegment segment, long index, double value) {
      segment.setAtIndex(LONG, index, (long) value);
    }
  },
  /** A byte, of which 0 is false. Its number is the byte as it is stored. */
  BOOL8(Byte.BYTES, 0, 1) {
    @Override
    public int getInt(MemorySegment segment, long index) {
      return segment.get(ValueLayout.JAVA_BYTE, index) & 0xFF;
    }

    @Override
    public void setInt(MemorySegment segment, long index, int value) {
      segment.set(ValueLayout.JAVA_BYTE, index, (byte) value);
    }
  };

  private final int size;
  private final double least;
  private final double most;

  Elements(int size, double least, double most) {
    this.size = size;
    this.least = least;
    this.most = most;
  }

  /**
   * Returns the format of an operand's elements; empty for SUBGRAPH, and for an extension's type
   * unless it is one of {@link WideTypes}.
   */
  public static Optional<Elements> find(OperandType type) {
    return type == OperandCode.SUBGRAPH
            || type instanceof ExtensionOperandType extension
                && !WideTypes.all().contains(extension)
        ? Optional.empty()
        : Optional.of(of(type));
  }

  /**
   * Returns the format of an operand's elements.
   *
   * @throws IllegalArgumentException for SUBGRAPH, and for an extension's type unless it is one of
   *     {@link WideTypes}
   */
  public static Elements of(OperandType type) {
    if (type.equals(WideTypes.TENSOR_INT64)) {
      return INT64;
    }
    if (type.equals(WideTypes.TENSOR_FLOAT64)) {
      return FLOAT64;
    }
    if (!(type instanceof OperandCode code)) {
      throw new IllegalArgumentException("the elements of " + type.text() + " are no numbers");
    }
    return switch (code) {
      case FLOAT32, TENSOR_FLOAT32 -> FLOAT32;
      case FLOAT16, TENSOR_FLOAT16 -> FLOAT16;
      case INT32, TENSOR_INT32 -> INT32;
      case UINT32 -> UINT32;
      case TENSOR_QUANT8_ASYMM -> UINT8;
      case TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL -> INT8;
      case TENSOR_QUANT16_SYMM -> INT16;
      case TENSOR_QUANT16_ASYMM -> UINT16;
      case BOOL, TENSOR_BOOL8 -> BOOL8;
      case SUBGRAPH -> throw new IllegalArgumentException("a subgraph has no elements");
    };
  }

  /** Returns the bytes of one element. */
  public int size() {
    return size;
  }

  /** Returns the least finite element. */
  public double least() {
    return least;
  }

  /** Returns the largest finite element. */
  public double most() {
    return most;
  }

  /** Returns whether elements can have fractions. */
  public boolean isFloat() {
    return this == FLOAT32 || this == FLOAT16 || this == FLOAT64;
  }

  /**
   * Returns element number {@code index}.
   *
   * @throws IndexOutOfBoundsException where the segment has no such element
   */
  public double getDouble(MemorySegment segment, long index) {
    return getInt(segment, index);
  }

  /**
   * Sets element number {@code index}.
   *
   * @throws IndexOutOfBoundsException where the segment has no such element
   */
  public void setDouble(MemorySegment segment, long index, double value) {
    setInt(segment, index, (int) (long) value);
  }

  /** Returns element number {@code index} as {@link #getDouble} does, rounded to a float. */
  public float getFloat(MemorySegment segment, long index) {
    return (float) getDouble(segment, index);
  }

  /** Sets element number {@code index} as {@link #setDouble} does. */
  public void setFloat(MemorySegment segment, long index, float value) {
    setDouble(segment, index, value);
  }

  /** Returns element number {@code index} as {@link #getDouble} does, cast to an int. */
  public int getInt(MemorySegment segment, long index) {
    return (int) getDouble(segment, index);
  }

  /** Sets element number {@code index} as {@link #setDouble} does. */
  public void setInt(MemorySegment segment, long index, int value) {
    setDouble(segment, index, value);
  }
}
