// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.driver.KernelException;
import io.thalamus.driver.WorkMeter;
import io.thalamus.hal.ExecutionConfig;
import org.junit.jupiter.api.Test;

/** The order of scores, and boxes that share them. */
class BoxesTest {
  @Test
  void scoresAreSortedDownwardsAndEqualOnesStay() {
    float[] scores = {-1, 2, -0.5f, 2, 0, Float.NEGATIVE_INFINITY, 1e-40f, -3e38f};
    int[] indexes = {7, 6, 5, 4, 3, 2, 1, 0};
    Boxes.sort(scores, indexes, indexes.length);
    assertArrayEquals(new int[] {3, 1, 6, 4, 2, 0, 7, 5}, indexes);
  }

  @Test
  void onlyTheFirstIndexesAreSorted() {
    int[] indexes = {0, 1, 2};
    Boxes.sort(new float[] {1, 2, 3}, indexes, 2);
    assertArrayEquals(new int[] {1, 0, 2}, indexes);
  }

  @Test
  void boxesThatTouchDoNotOverlap() {
    float[] corners = {0, 0, 2, 2, 2, 0, 4, 2, 0, 0, 2, 3};
    float[] scores = {0.5f, 0.4f, 0.6f};
    int[] chosen = {0, 1, 2};
    int end =
        new Boxes(corners, scores, 1, new WorkMeter(ExecutionConfig.DEFAULT))
            .suppress(chosen, 0, 3, -1, Boxes.hard(0.6f));
    assertEquals(2, end);
    assertEquals(2, chosen[0]);
    assertEquals(1, chosen[1]);
  }

  @Test
  void aBoxInsideOutIsRefusedAndAPointIsNot() {
    Boxes.check(new float[] {3, 3, 3, 3}, 0);
    assertThrows(KernelException.class, () -> Boxes.check(new float[] {3, 4, 3, 3}, 0));
    assertThrows(KernelException.class, () -> Boxes.check(new float[] {Float.NaN, 0, 3, 3}, 0));
  }
}
