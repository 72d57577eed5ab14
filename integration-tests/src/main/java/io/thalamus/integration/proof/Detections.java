// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.model.Elements;
import io.thalamus.vectors.ModelCase;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;

/**
 * Lists of boxes, whose entries can change places: each stored one must have a found one of its
 * class, over the same place and with the same score. The outputs are boxes (top, left, bottom,
 * right), classes, scores and the number of boxes.
 */
final class Detections {
  /** Two boxes that overlap by less are not the same. */
  private static final double SAME_PLACE = 0.9;

  private static final double SCORE_RELATIVE = 1e-4;

  private final float[] boxes;
  private final float[] classes;
  private final float[] scores;
  private final int count;

  private Detections(List<byte[]> outputs) {
    boxes = floats(outputs.get(0));
    classes = floats(outputs.get(1));
    scores = floats(outputs.get(2));
    count = Math.clamp((long) floats(outputs.get(3))[0], 0, scores.length);
  }

  private static float[] floats(byte[] bytes) {
    MemorySegment segment = MemorySegment.ofArray(bytes);
    float[] values = new float[bytes.length / Elements.FLOAT32.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = Elements.FLOAT32.getFloat(segment, i);
    }
    return values;
  }

  /**
   * Returns the fault of the outputs of a step, or empty.
   *
   * @throws IOException where a stored output cannot be read
   */
  static Optional<String> compare(ModelCase one, int step, List<byte[]> outputs)
      throws IOException {
    List<ModelCase.Output> stored = one.outputs();
    List<byte[]> expected =
        List.of(
            stored.get(0).tensor().read(step),
            stored.get(1).tensor().read(step),
            stored.get(2).tensor().read(step),
            stored.get(3).tensor().read(step));
    // Engines quantize scores, so that they differ by steps: what they differ by is allowed.
    double tolerance = stored.get(2).largestSpread() + SCORE_RELATIVE * stored.get(2).maxAbs();
    return compare(expected, outputs, tolerance);
  }

  /** Returns the fault of a list, where scores may be off by {@code tolerance}, or empty. */
  static Optional<String> compare(List<byte[]> expected, List<byte[]> actual, double tolerance) {
    return new Detections(expected).compare(new Detections(actual), tolerance);
  }

  private Optional<String> compare(Detections actual, double tolerance) {
    if (count != actual.count) {
      return Optional.of(actual.count + " boxes, expected " + count);
    }
    BitSet taken = new BitSet();
    for (int i = 0; i < count; i++) {
      int twin = find(i, actual, taken, tolerance);
      // One that is as good as the last one may have been pushed off the list.
      if (twin < 0 && scores[i] > scores[count - 1] + tolerance) {
        return Optional.of("no box like number " + i + " of class " + classes[i]);
      }
      if (twin >= 0) {
        taken.set(twin);
      }
    }
    return Optional.empty();
  }

  private int find(int box, Detections others, BitSet taken, double tolerance) {
    for (int i = 0; i < others.count; i++) {
      if (!taken.get(i)
          && others.classes[i] == classes[box]
          && Math.abs(others.scores[i] - scores[box]) <= tolerance
          && overlap(boxes, box, others.boxes, i) >= SAME_PLACE) {
        return i;
      }
    }
    return -1;
  }

  /** Intersection over union. */
  private static double overlap(float[] first, int i, float[] second, int k) {
    double height =
        Math.min(first[4 * i + 2], second[4 * k + 2]) - Math.max(first[4 * i], second[4 * k]);
    double width =
        Math.min(first[4 * i + 3], second[4 * k + 3])
            - Math.max(first[4 * i + 1], second[4 * k + 1]);
    double both = Math.max(0, height) * Math.max(0, width);
    return both / (area(first, i) + area(second, k) - both);
  }

  private static double area(float[] boxes, int i) {
    return (double) (boxes[4 * i + 2] - boxes[4 * i]) * (boxes[4 * i + 3] - boxes[4 * i + 1]);
  }
}
