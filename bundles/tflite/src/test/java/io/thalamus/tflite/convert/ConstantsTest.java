// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import org.junit.jupiter.api.Test;

/** Constants that the file leaves out. */
class ConstantsTest {
  @Test
  void bytesOfOneValueStayBesideAsManyOfAnother() {
    try (SharedMemory file = SharedMemory.allocate(MemoryKind.ASHMEM, 64)) {
      Constants constants = new Constants(file);
      byte[] states = constants.filled(4, -7, null).value();
      byte[] bias = constants.zeros(4, null).value();
      byte[] others = constants.filled(4, 253, null).value();
      assertArrayEquals(new byte[] {-7, -7, -7, -7}, states);
      assertArrayEquals(new byte[4], bias);
      assertArrayEquals(new byte[] {-3, -3, -3, -3}, others);
      assertSame(states, constants.filled(4, -7, null).value());
    }
  }
}
