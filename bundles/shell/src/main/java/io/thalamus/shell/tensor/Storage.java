// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.tensor;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Optional;

/**
 * How one element is stored, little-endian and at any alignment, and what NumPy calls that.
 * Elements are read and written as doubles, which hold each of them exactly, {@link #INT64} beyond
 * 2^53 aside.
 */
enum Storage {
  FLOAT32("<f4", 4, -Float.MAX_VALUE, Float.MAX_VALUE),
  FLOAT16("<f2", 2, -65504, 65504),
  FLOAT64("<f8", 8, -Double.MAX_VALUE, Double.MAX_VALUE),
  INT8("|i1", 1, Byte.MIN_VALUE, Byte.MAX_VALUE),
  UINT8("|u1", 1, 0, 0xFF),
  INT16("<i2", 2, Short.MIN_VALUE, Short.MAX_VALUE),
  UINT16("<u2", 2, 0, 0xFFFF),
  INT32("<i4", 4, Integer.MIN_VALUE, Integer.MAX_VALUE),
  UINT32("<u4", 4, 0, 0xFFFFFFFFL),
  INT64("<i8", 8, Long.MIN_VALUE, Long.MAX_VALUE),
  BOOL8("|b1", 1, 0, 1);

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final String descr;
  private final int size;
  private final double least;
  private final double most;

  Storage(String descr, int size, double least, double most) {
    this.descr = descr;
    this.size = size;
    this.least = least;
    this.most = most;
  }

  /** How an operand's elements are stored; empty for an extension's type. */
  static Optional<Storage> of(OperandType type) {
    if (!(type instanceof OperandCode code)) {
      return Optional.empty();
    }
    return Optional.ofNullable(
        switch (code) {
          case FLOAT32, TENSOR_FLOAT32 -> FLOAT32;
          case FLOAT16, TENSOR_FLOAT16 -> FLOAT16;
          case INT32, TENSOR_INT32 -> INT32;
          case UINT32 -> UINT32;
          case TENSOR_QUANT8_ASYMM -> UINT8;
          case TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL ->
              INT8;
          case TENSOR_QUANT16_SYMM -> INT16;
          case TENSOR_QUANT16_ASYMM -> UINT16;
          case BOOL, TENSOR_BOOL8 -> BOOL8;
          case SUBGRAPH -> null;
        });
  }

  /** The storage that NumPy calls this; empty for other types and big-endian ones. */
  static Optional<Storage> ofDescr(String descr) {
    String wanted = descr.startsWith("=") ? "<" + descr.substring(1) : descr;
    return Arrays.stream(values())
        .filter(
            storage ->
                storage.descr.equals(wanted)
                    || storage.size == 1 && storage.descr.substring(1).equals(wanted.substring(1)))
        .findFirst();
  }

  /** NumPy's name. */
  String descr() {
    return descr;
  }

  /** Bytes of one element. */
  int size() {
    return size;
  }

  /** The least element. */
  double least() {
    return least;
  }

  /** The largest element. */
  double most() {
    return most;
  }

  /** Whether elements can have fractions. */
  boolean isFloating() {
    return this == FLOAT32 || this == FLOAT16 || this == FLOAT64;
  }

  /** Element number {@code index}. */
  double get(MemorySegment data, long index) {
    long offset = index * size;
    return switch (this) {
      case FLOAT32 -> Float.intBitsToFloat(data.get(INT, offset));
      case FLOAT16 -> Float.float16ToFloat(data.get(SHORT, offset));
      case FLOAT64 -> Double.longBitsToDouble(data.get(LONG, offset));
      case INT8 -> data.get(ValueLayout.JAVA_BYTE, offset);
      case UINT8 -> data.get(ValueLayout.JAVA_BYTE, offset) & 0xFF;
      case BOOL8 -> data.get(ValueLayout.JAVA_BYTE, offset) == 0 ? 0 : 1;
      case INT16 -> data.get(SHORT, offset);
      case UINT16 -> data.get(SHORT, offset) & 0xFFFF;
      case INT32 -> data.get(INT, offset);
      case UINT32 -> data.get(INT, offset) & 0xFFFFFFFFL;
      case INT64 -> data.get(LONG, offset);
    };
  }

  /** Sets element number {@code index}; integers are rounded and cut to what can be stored. */
  void set(MemorySegment data, long index, double value) {
    long offset = index * size;
    double cut = isFloating() ? value : Math.clamp(Math.rint(value), least, most);
    switch (this) {
      case FLOAT32 -> data.set(INT, offset, Float.floatToRawIntBits((float) value));
      case FLOAT16 -> data.set(SHORT, offset, Float.floatToFloat16((float) value));
      case FLOAT64 -> data.set(LONG, offset, Double.doubleToRawLongBits(value));
      case INT8, UINT8, BOOL8 -> data.set(ValueLayout.JAVA_BYTE, offset, (byte) (long) cut);
      case INT16, UINT16 -> data.set(SHORT, offset, (short) (long) cut);
      case INT32, UINT32 -> data.set(INT, offset, (int) (long) cut);
      case INT64 -> data.set(LONG, offset, (long) cut);
    }
  }
}
