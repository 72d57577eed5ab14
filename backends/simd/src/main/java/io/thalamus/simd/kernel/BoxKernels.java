// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.kernel;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static jdk.incubator.vector.VectorOperators.GT;
import static jdk.incubator.vector.VectorOperators.MAX;

import jdk.incubator.vector.FloatVector;

/** The best scores of boxes, and how far boxes overlap. Stateless. */
public final class BoxKernels {
  /** Numbers of a box that others are compared with: y1, x1, y2, x2 and its area. */
  public static final int NUMBERS = 5;

  private BoxKernels() {}

  /** Returns the largest of some numbers and 0; NaN is none. */
  public static float best(boolean isScalar, float[] in, int from, int count) {
    float best = 0;
    int i = 0;
    if (count >= COUNT && !isScalar) {
      FloatVector vector = FloatVector.zero(FLOATS);
      for (; i <= count - COUNT; i += COUNT) {
        FloatVector x = FloatVector.fromArray(FLOATS, in, from + i);
        vector = vector.blend(x, x.compare(GT, vector));
      }
      best = vector.reduceLanes(MAX);
    }
    for (; i < count; i++) {
      best = in[from + i] > best ? in[from + i] : best;
    }
    return best;
  }

  /**
   * Writes a box's intersections with others by their unions: a loop that the JVM makes vectors of
   * by itself.
   *
   * @param numbers of boxes: all first numbers stand beside each other, and so on
   * @param box where the first number of the box stands
   * @param boxStep from there to its second number
   * @param from where the first number of the first other box stands
   * @param step from there to its second number
   */
  public static void overlaps(
      float[] numbers, int box, int boxStep, int from, int step, float[] overlaps, int count) {
    float y1 = numbers[box];
    float x1 = numbers[box + boxStep];
    float y2 = numbers[box + 2 * boxStep];
    float x2 = numbers[box + 3 * boxStep];
    float area = numbers[box + 4 * boxStep];
    int second = from + step;
    int third = second + step;
    int fourth = third + step;
    int fifth = fourth + step;
    for (int i = 0; i < count; i++) {
      float height = Math.min(numbers[third + i], y2) - Math.max(numbers[from + i], y1);
      float width = Math.min(numbers[fourth + i], x2) - Math.max(numbers[second + i], x1);
      float common = Math.max(height, 0) * Math.max(width, 0);
      overlaps[i] = common / (area + numbers[fifth + i] - common);
    }
  }
}
