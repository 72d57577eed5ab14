// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Optional;

/** The types of elements in stored tensors of public models. */
public enum DataType {
  FLOAT32(4),
  FLOAT16(2),
  INT8(1),
  UINT8(1),
  INT16(2),
  INT32(4),
  INT64(8),
  BOOL(1);

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final int size;

  DataType(int size) {
    this.size = size;
  }

  /** Bytes of one element. */
  public int size() {
    return size;
  }

  public boolean isFloat() {
    return this == FLOAT32 || this == FLOAT16;
  }

  /** The element at {@code index} of little-endian bytes. */
  public double get(MemorySegment bytes, long index) {
    return switch (this) {
      case FLOAT32 -> bytes.get(FLOAT, index * size);
      case FLOAT16 -> Float.float16ToFloat(bytes.get(SHORT, index * size));
      case INT8 -> bytes.get(ValueLayout.JAVA_BYTE, index);
      case UINT8, BOOL -> Byte.toUnsignedInt(bytes.get(ValueLayout.JAVA_BYTE, index));
      case INT16 -> bytes.get(SHORT, index * size);
      case INT32 -> bytes.get(INT, index * size);
      case INT64 -> bytes.get(LONG, index * size);
    };
  }

  /** The type of this name; FLOAT, as ONNX says, is FLOAT32. */
  public static Optional<DataType> named(String name) {
    return name.equals("FLOAT")
        ? Optional.of(FLOAT32)
        : Arrays.stream(values()).filter(type -> type.name().equals(name)).findFirst();
  }
}
