// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.driver.KernelException;
import io.thalamus.driver.WorkMeter;
import io.thalamus.hal.ExecutionConfig;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
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

  /** The oracle walks over boxes by score and place, and keeps those far from all it has kept. */
  @Test
  void ofEqualScoresTheBoxThatStandsFirstIsChosen() {
    long seed = Long.getLong("thalamus.seed", 1);
    Random random = new Random(seed);
    for (int round = 0; round < 100; round++) {
      int count = 1 + random.nextInt(60);
      float[] corners = new float[count * Boxes.CORNERS];
      float[] scores = new float[count];
      for (int box = 0; box < count; box++) {
        int at = box * Boxes.CORNERS;
        for (int i = 0; i < 2; i++) {
          corners[at + i] = random.nextInt(8);
          corners[at + 2 + i] = corners[at + i] + 1 + random.nextInt(4);
        }
        scores[box] = random.nextInt(4) / 4f;
      }
      int[] chosen = IntStream.range(0, count).toArray();
      int end =
          new Boxes(corners, scores, 1, new WorkMeter(ExecutionConfig.DEFAULT))
              .suppress(chosen, 0, count, -1, Boxes.hard(0.25f));
      List<Integer> expected = new ArrayList<>();
      IntStream.range(0, count)
          .boxed()
          .sorted(Comparator.comparing((Integer box) -> -scores[box]).thenComparing(box -> box))
          .filter(box -> expected.stream().allMatch(kept -> overlap(corners, kept, box) < 0.25))
          .forEachOrdered(expected::add);
      assertEquals(
          expected, Arrays.stream(chosen).limit(end).boxed().toList(), () -> "seed " + seed);
    }
  }

  private static double overlap(float[] corners, int a, int b) {
    double common = 1;
    double areaA = 1;
    double areaB = 1;
    for (int i = 0; i < 2; i++) {
      float[] at = Arrays.copyOfRange(corners, a * Boxes.CORNERS + i, a * Boxes.CORNERS + i + 3);
      float[] bt = Arrays.copyOfRange(corners, b * Boxes.CORNERS + i, b * Boxes.CORNERS + i + 3);
      common *= Math.max(0, Math.min(at[2], bt[2]) - Math.max(at[0], bt[0]));
      areaA *= at[2] - at[0];
      areaB *= bt[2] - bt[0];
    }
    return common / (areaA + areaB - common);
  }

  @Test
  void zerosOfBothSignsAreEqualAndWhatIsNoNumberComesLast() {
    int[] indexes = {0, 1, 2, 3, 4};
    float[] scores = {Float.NaN, -0f, 0, Float.NEGATIVE_INFINITY, 1};
    Boxes.sort(scores, indexes, 5);
    assertArrayEquals(new int[] {4, 1, 2, 3, 0}, indexes);
  }

  @Test
  void aBoxInsideOutIsRefusedAndAPointIsNot() {
    Boxes.check(new float[] {3, 3, 3, 3}, 0);
    assertThrows(KernelException.class, () -> Boxes.check(new float[] {3, 4, 3, 3}, 0));
    assertThrows(KernelException.class, () -> Boxes.check(new float[] {Float.NaN, 0, 3, 3}, 0));
  }
}
