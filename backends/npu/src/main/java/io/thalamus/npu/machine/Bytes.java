// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Numbers of several bytes in the scratchpad, little-endian and not aligned. Stateless. */
final class Bytes {
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle SHORT =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);

  private Bytes() {}

  static int intAt(byte[] bytes, int index) {
    return (int) INT.get(bytes, index);
  }

  static float halfAt(byte[] bytes, int index) {
    return Float.float16ToFloat((short) SHORT.get(bytes, index));
  }

  static void setHalf(byte[] bytes, int index, float value) {
    SHORT.set(bytes, index, Float.floatToFloat16(value));
  }
}
