// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Elements of operands as bytes and as numbers: little-endian, row-major, without padding, as
 * requests carry them. Extension types and subgraphs have no numbers here.
 */
public final class Elements {
  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private Elements() {}

  /**
   * The bytes of some numbers. Floats are rounded to their type; integers must be whole and in the
   * range of theirs.
   *
   * @throws VectorFormatException where a number does not fit, or the type has no numbers
   */
  public static byte[] encode(OperandType type, Values values) throws VectorFormatException {
    OperandCode code = code(type);
    ByteBuffer bytes =
        ByteBuffer.allocate(Math.multiplyExact(values.size(), code.elementSize()))
            .order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < values.size(); i++) {
      put(bytes, code, values.get(i));
    }
    return bytes.array();
  }

  /**
   * The numbers of some bytes.
   *
   * @throws VectorFormatException where the type has no numbers, or the last element is cut off
   */
  public static Values decode(OperandType type, MemorySegment bytes) throws VectorFormatException {
    OperandCode code = code(type);
    if (bytes.byteSize() % code.elementSize() != 0) {
      throw new VectorFormatException(
          bytes.byteSize() + " bytes are no whole number of " + code + " elements");
    }
    double[] numbers = new double[Math.toIntExact(bytes.byteSize() / code.elementSize())];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = get(code, bytes, i);
    }
    return Values.owning(numbers);
  }

  /**
   * The element at {@code index} as a number: the stored integer of a quantized type.
   *
   * @throws IndexOutOfBoundsException where there is no such element
   */
  public static double get(OperandCode type, MemorySegment bytes, long index) {
    return switch (type) {
      case FLOAT32, TENSOR_FLOAT32 -> bytes.get(FLOAT, index * Float.BYTES);
      case FLOAT16, TENSOR_FLOAT16 -> Float.float16ToFloat(bytes.get(SHORT, index * Short.BYTES));
      case INT32, TENSOR_INT32 -> bytes.get(INT, index * Integer.BYTES);
      case UINT32 -> Integer.toUnsignedLong(bytes.get(INT, index * Integer.BYTES));
      case TENSOR_QUANT16_SYMM -> bytes.get(SHORT, index * Short.BYTES);
      case TENSOR_QUANT16_ASYMM -> Short.toUnsignedInt(bytes.get(SHORT, index * Short.BYTES));
      case TENSOR_QUANT8_ASYMM, BOOL, TENSOR_BOOL8 ->
          Byte.toUnsignedInt(bytes.get(ValueLayout.JAVA_BYTE, index));
      case TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_QUANT8_ASYMM_SIGNED ->
          bytes.get(ValueLayout.JAVA_BYTE, index);
      case SUBGRAPH -> throw new IllegalArgumentException("a subgraph has no elements");
    };
  }

  /** Whether the elements are floating-point numbers. */
  public static boolean isFloat(OperandType type) {
    return type instanceof OperandCode code
        && switch (code) {
          case FLOAT32, TENSOR_FLOAT32, FLOAT16, TENSOR_FLOAT16 -> true;
          default -> false;
        };
  }

  private static OperandCode code(OperandType type) throws VectorFormatException {
    if (type instanceof OperandCode code && code != OperandCode.SUBGRAPH) {
      return code;
    }
    throw new VectorFormatException("values of type " + type.text() + " cannot be numbers");
  }

  private static void put(ByteBuffer bytes, OperandCode type, double number)
      throws VectorFormatException {
    switch (type) {
      case FLOAT32, TENSOR_FLOAT32 -> bytes.putFloat((float) number);
      case FLOAT16, TENSOR_FLOAT16 -> bytes.putShort(Float.floatToFloat16((float) number));
      case INT32, TENSOR_INT32 ->
          bytes.putInt((int) whole(type, number, Integer.MIN_VALUE, Integer.MAX_VALUE));
      case UINT32 -> bytes.putInt((int) whole(type, number, 0, 0xFFFF_FFFFL));
      case TENSOR_QUANT16_SYMM ->
          bytes.putShort((short) whole(type, number, Short.MIN_VALUE, Short.MAX_VALUE));
      case TENSOR_QUANT16_ASYMM -> bytes.putShort((short) whole(type, number, 0, 0xFFFF));
      case TENSOR_QUANT8_ASYMM -> bytes.put((byte) whole(type, number, 0, 0xFF));
      case BOOL, TENSOR_BOOL8 -> bytes.put((byte) whole(type, number, 0, 1));
      case TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_QUANT8_ASYMM_SIGNED ->
          bytes.put((byte) whole(type, number, Byte.MIN_VALUE, Byte.MAX_VALUE));
      case SUBGRAPH -> throw new VectorFormatException("a subgraph has no elements");
    }
  }

  private static long whole(OperandCode type, double number, long min, long max)
      throws VectorFormatException {
    long integer = (long) number;
    if (integer != number || integer < min || integer > max) {
      throw new VectorFormatException(
          "value " + number + " is no whole number in " + min + ".." + max + " for " + type);
    }
    return integer;
  }
}
