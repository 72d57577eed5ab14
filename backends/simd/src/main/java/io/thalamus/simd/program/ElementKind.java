// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.WideTypes;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.util.Optional;

/** The arrays in which the elements of a type stand. */
public enum ElementKind {
  FLOATS(float.class, Float.BYTES),
  /** Quantized integers as they are stored, and truth values. */
  BYTES(byte.class, Byte.BYTES),
  INTS(int.class, Integer.BYTES),
  /** Integers, and floats of 16 bits by their bits. */
  SHORTS(short.class, Short.BYTES),
  LONGS(long.class, Long.BYTES),
  DOUBLES(double.class, Double.BYTES);

  private final Class<?> element;
  private final int size;

  /** The kind itself: asked for by each step of an execution, which is not to allocate. */
  private final Optional<ElementKind> present = Optional.of(this);

  ElementKind(Class<?> element, int size) {
    this.element = element;
    this.size = size;
  }

  /** Returns the arrays for a type; empty where tensors of it do not stand in frames. */
  public static Optional<ElementKind> find(OperandType type) {
    if (type.equals(WideTypes.TENSOR_INT64)) {
      return LONGS.present;
    }
    if (type.equals(WideTypes.TENSOR_FLOAT64)) {
      return DOUBLES.present;
    }
    if (!(type instanceof OperandCode code)) {
      return Optional.empty();
    }
    return switch (code) {
      case TENSOR_FLOAT32 -> FLOATS.present;
      case TENSOR_INT32 -> INTS.present;
      case TENSOR_BOOL8, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED -> BYTES.present;
      case TENSOR_FLOAT16, TENSOR_QUANT16_SYMM, TENSOR_QUANT16_ASYMM -> SHORTS.present;
      default -> Optional.empty();
    };
  }

  /** Returns the bytes of an element. */
  public int size() {
    return size;
  }

  /** Returns an array of zeros. */
  Object newArray(int length) {
    return Array.newInstance(element, length);
  }

  /** Returns the memory of an array of this kind. */
  public MemorySegment memory(Object array) {
    return switch (this) {
      case FLOATS -> MemorySegment.ofArray((float[]) array);
      case BYTES -> MemorySegment.ofArray((byte[]) array);
      case INTS -> MemorySegment.ofArray((int[]) array);
      case SHORTS -> MemorySegment.ofArray((short[]) array);
      case LONGS -> MemorySegment.ofArray((long[]) array);
      case DOUBLES -> MemorySegment.ofArray((double[]) array);
    };
  }

  /** Returns the length of an array; 0 if it is of another kind, or there is none. */
  int length(Object array) {
    return array != null && array.getClass().componentType() == element
        ? Array.getLength(array)
        : 0;
  }
}
