// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The generator beside the known answers of the Random123 library, and as a source of chance. */
class PhiloxTest {
  /** philox4x32 10 of counter 0 and key 0: 6627e8d5 e169c58d bc57ac4c 9b00dbd8. */
  @Test
  void knownAnswer() {
    Philox random = new Philox(0, 0);
    assertEquals((0x7e8d5L << 32 | 0xe169c58dL) * 0x1p-52, random.nextDouble());
    assertEquals((0x7ac4cL << 32 | 0x9b00dbd8L) * 0x1p-52, random.nextDouble());
  }

  @Test
  void numbersAreSpreadAndRepeat() {
    Philox random = new Philox(5, -6);
    Philox again = new Philox(5, -6);
    Philox other = new Philox(5, -7);
    double sum = 0;
    int same = 0;
    for (int i = 0; i < 10_000; i++) {
      double number = random.nextDouble();
      assertTrue(number >= 0 && number < 1);
      assertEquals(number, again.nextDouble());
      same += number == other.nextDouble() ? 1 : 0;
      sum += number;
    }
    assertEquals(0.5, sum / 10_000, 0.02);
    assertNotEquals(10_000, same);
    assertTrue(same < 10);
  }
}
