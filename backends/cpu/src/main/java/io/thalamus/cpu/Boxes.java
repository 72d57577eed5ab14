// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.KernelException;
import io.thalamus.driver.WorkMeter;
import io.thalamus.operations.Detection.Suppression;
import java.util.Arrays;

/**
 * Boxes with scores, and the choice among those that overlap. Each box takes four numbers: two
 * corners, the lesser coordinates first. Made for one run.
 *
 * @param scoresOfBox how many consecutive scores belong to the same box
 */
record Boxes(float[] corners, float[] scores, int scoresOfBox, WorkMeter work) {
  static final int CORNERS = 4;

  private float corner(int score, int corner) {
    return corners[score / scoresOfBox * CORNERS + corner];
  }

  /** Throws where a box is inside out. */
  static void check(float[] corners, int box) {
    int first = box * CORNERS;
    boolean isProper =
        corners[first] <= corners[first + 2] && corners[first + 1] <= corners[first + 3];
    if (!isProper) {
      throw new KernelException(
          "box %s is inside out: %s, %s, %s, %s"
              .formatted(
                  box, corners[first], corners[first + 1], corners[first + 2], corners[first + 3]));
    }
  }

  /** The intersection of the boxes of two scores by their union. */
  private float overlap(int a, int b) {
    float areaA = (corner(a, 2) - corner(a, 0)) * (corner(a, 3) - corner(a, 1));
    float areaB = (corner(b, 2) - corner(b, 0)) * (corner(b, 3) - corner(b, 1));
    float width = Math.min(corner(a, 2), corner(b, 2)) - Math.max(corner(a, 0), corner(b, 0));
    float height = Math.min(corner(a, 3), corner(b, 3)) - Math.max(corner(a, 1), corner(b, 1));
    float common = Math.max(width, 0) * Math.max(height, 0);
    return common / (areaA + areaB - common);
  }

  /** The rule by which a box is dropped for a better one; may lower its score. */
  @FunctionalInterface
  interface Rule {
    boolean drops(int score, float overlap);
  }

  /** Drops what overlaps by the threshold or more. */
  static Rule hard(float threshold) {
    return (score, overlap) -> overlap >= threshold;
  }

  /** Lowers scores, and drops those that fall below a threshold. */
  Rule lowering(Suppression suppression, float threshold, float sigma, float leastScore) {
    return (score, overlap) -> {
      scores[score] *=
          switch (suppression) {
            case HARD -> overlap < threshold ? 1 : 0;
            case LINEAR -> overlap < threshold ? 1 : 1 - overlap;
            case GAUSSIAN -> (float) Math.exp(-overlap * overlap / sigma);
          };
      return scores[score] < leastScore;
    };
  }

  /**
   * Chooses the best again and again, of equals the first, each time dropping others by a rule.
   *
   * @param chosen scores by index; those from {@code first} to before {@code end} are chosen from,
   *     and stand there in order afterwards
   * @param most how many are chosen; negative for all
   * @return one behind the last chosen
   */
  int suppress(int[] chosen, int first, int end, int most, Rule rule) {
    int start = first;
    int rest = end;
    int limit = most < 0 ? end - first : most;
    while (start < rest && start - first < limit) {
      work.done(2L * (rest - start));
      int best = start;
      for (int i = start + 1; i < rest; i++) {
        if (isBefore(chosen[i], chosen[best])) {
          best = i;
        }
      }
      swap(chosen, start, best);
      for (int i = start + 1; i < rest; i++) {
        if (rule.drops(chosen[i], overlap(chosen[i], chosen[start]))) {
          rest--;
          swap(chosen, i, rest);
          i--;
        }
      }
      start++;
    }
    return start;
  }

  private boolean isBefore(int a, int b) {
    return scores[a] > scores[b] || scores[a] == scores[b] && a < b;
  }

  /**
   * Chooses from each class but the first, which is the background.
   *
   * @param first score of the first box
   * @param count number of boxes
   * @param chosen receives scores by index, best first
   * @return how many are chosen
   */
  int suppressByClass(
      int first,
      int count,
      int classes,
      float leastScore,
      int mostOfClass,
      int most,
      Rule rule,
      int[] chosen) {
    int end = 0;
    for (int c = 1; c < classes; c++) {
      work.done(count);
      int start = end;
      for (int box = 0; box < count; box++) {
        int score = first + box * classes + c;
        if (scores[score] > leastScore) {
          chosen[end++] = score;
        }
      }
      end = suppress(chosen, start, end, mostOfClass, rule);
    }
    sort(scores, chosen, end);
    return most < 0 ? end : Math.min(end, most);
  }

  /**
   * Sorts indexes by their scores, best first, those that are no numbers last; of equals the one
   * that stands first.
   */
  static void sort(float[] scores, int[] indexes, int count) {
    long[] keys = new long[count];
    for (int i = 0; i < count; i++) {
      keys[i] = (long) ~ascending(scores[indexes[i]]) << 32 | i;
    }
    Arrays.sort(keys);
    int[] sorted = new int[count];
    for (int i = 0; i < count; i++) {
      sorted[i] = indexes[(int) keys[i]];
    }
    System.arraycopy(sorted, 0, indexes, 0, count);
  }

  private static int ascending(float score) {
    if (Float.isNaN(score)) {
      return Integer.MIN_VALUE;
    }
    // Zeros of both signs are equal.
    int bits = Float.floatToIntBits(score + 0f);
    // The bits of negative floats ascend where the floats descend.
    return bits < 0 ? ~bits ^ Integer.MIN_VALUE : bits;
  }

  private static void swap(int[] values, int a, int b) {
    int value = values[a];
    values[a] = values[b];
    values[b] = value;
  }
}
