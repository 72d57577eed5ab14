// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The proofs about weights, for each pair of bytes. */
class StoredWeightsTest {
  private static final int[] ENDS = {0, 255};

  @Test
  void pairsThatMaySaturateAreNeverTakenForSafeOnes() {
    int safe = 0;
    for (int first = Byte.MIN_VALUE; first <= Byte.MAX_VALUE; first++) {
      for (int second = Byte.MIN_VALUE; second <= Byte.MAX_VALUE; second++) {
        StoredWeights weights =
            new StoredWeights(new byte[] {3, (byte) first, (byte) second, 5}, 0, 0);
        if (weights.neverSaturate(1, 2, 2)) {
          safe++;
          for (int x : ENDS) {
            int a = x * first;
            for (int y : ENDS) {
              int sum = a + y * second;
              assertEquals((short) sum, sum, first + " and " + second);
            }
          }
        }
      }
    }
    assertTrue(safe > 65_536 / 2, "hardly any pair is taken: " + safe);
  }

  @Test
  void excessMakesAllWeightsSignedBytes() {
    for (int zeroPoint = 0; zeroPoint < 256; zeroPoint++) {
      for (int stored = 0; stored < 256; stored++) {
        StoredWeights weights =
            new StoredWeights(new byte[] {(byte) stored}, Byte.MIN_VALUE, zeroPoint - 128);
        int weight = stored - zeroPoint;
        assertEquals(weight, weights.get(0));
        int less = weight - weights.excess(0, 1);
        assertEquals((byte) less, less, stored + " less " + zeroPoint);
      }
    }
  }
}
