// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import static io.thalamus.model.LittleEndian.FLOAT;
import static io.thalamus.model.LittleEndian.INT;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Reads constants of a model. */
public final class Stored {
  private Stored() {}

  public static float[] floats(MemorySegment segment) {
    return segment.toArray(FLOAT);
  }

  public static int[] ints(MemorySegment segment) {
    return segment.toArray(INT);
  }

  /** 8-bit integers of a type, as ints. */
  public static int[] bytes(MemorySegment segment, OperandType type) {
    byte[] stored = segment.toArray(ValueLayout.JAVA_BYTE);
    int[] values = new int[stored.length];
    int flip = flip(type);
    for (int i = 0; i < values.length; i++) {
      values[i] = (byte) (stored[i] ^ flip) + flip;
    }
    return values;
  }

  /** Returns the bits by whose exclusive or stored bytes become signed. */
  public static int flip(OperandType type) {
    return type == OperandCode.TENSOR_QUANT8_ASYMM ? 0x80 : 0;
  }
}
