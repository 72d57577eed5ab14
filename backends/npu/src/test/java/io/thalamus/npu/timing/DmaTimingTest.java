// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.timing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class DmaTimingTest {
  @Test
  void everyBurstPaysItsStart() {
    DmaTiming dma = new DmaTiming(16, 40);
    assertEquals(0, dma.cycles(0, 1));
    assertEquals(41, dma.cycles(1, 1));
    assertEquals(41, dma.cycles(16, 1));
    assertEquals(42, dma.cycles(17, 1));
    assertEquals(7 * 40 + 7, dma.cycles(7 * 16, 7));
    assertEquals(1600, new DmaTiming(0.625, 0).cycles(1000, 3));
  }

  @Test
  void nonsenseIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> new DmaTiming(0, 1));
    assertThrows(IllegalArgumentException.class, () -> new DmaTiming(Double.NaN, 1));
    assertThrows(IllegalArgumentException.class, () -> new DmaTiming(8, -1));
    assertThrows(IllegalArgumentException.class, () -> new DmaTiming(8, 1).cycles(-1, 1));
    assertThrows(IllegalArgumentException.class, () -> new DmaTiming(8, 1).cycles(1, 0));
  }
}
