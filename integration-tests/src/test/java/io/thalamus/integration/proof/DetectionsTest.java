// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class DetectionsTest {
  private static final float[] CAT = {0.1f, 0.1f, 0.5f, 0.5f};
  private static final float[] DOG = {0.4f, 0.2f, 0.9f, 0.8f};
  private static final float[] HAT = {0.0f, 0.3f, 0.1f, 0.4f};

  private static byte[] floats(float... values) {
    ByteBuffer bytes =
        ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    return bytes.array();
  }

  private static List<byte[]> list(float[][] boxes, float[] classes, float[] scores) {
    float[] all = new float[4 * boxes.length];
    for (int i = 0; i < boxes.length; i++) {
      System.arraycopy(boxes[i], 0, all, 4 * i, 4);
    }
    return List.of(floats(all), floats(classes), floats(scores), floats(boxes.length));
  }

  private final List<byte[]> expected =
      list(new float[][] {CAT, DOG, HAT}, new float[] {16, 17, 2}, new float[] {0.9f, 0.6f, 0.3f});

  @Test
  void theSameListIsEqual() {
    assertEquals(Optional.empty(), Detections.compare(expected, expected, 0));
  }

  @Test
  void entriesMayChangePlaces() {
    List<byte[]> swapped =
        list(
            new float[][] {DOG, CAT, HAT}, new float[] {17, 16, 2}, new float[] {0.6f, 0.9f, 0.3f});
    assertEquals(Optional.empty(), Detections.compare(expected, swapped, 0));
  }

  @Test
  void aMovedBoxIsMissed() {
    float[] moved = {0.1f, 0.3f, 0.5f, 0.7f};
    List<byte[]> other =
        list(
            new float[][] {moved, DOG, HAT},
            new float[] {16, 17, 2},
            new float[] {0.9f, 0.6f, 0.3f});
    assertTrue(Detections.compare(expected, other, 0.01).orElse("").contains("number 0"));
  }

  @Test
  void classScoreAndNumberMatter() {
    float[][] boxes = {CAT, DOG, HAT};
    float[] classes = {16, 17, 2};
    float[] scores = {0.9f, 0.6f, 0.3f};
    for (List<byte[]> wrong :
        List.of(
            list(boxes, new float[] {16, 18, 2}, scores),
            list(boxes, classes, new float[] {0.9f, 0.5f, 0.3f}),
            list(new float[][] {CAT, DOG}, new float[] {16, 17}, new float[] {0.9f, 0.6f}),
            list(boxes, classes, new float[] {Float.NaN, 0.6f, 0.3f}))) {
      assertTrue(Detections.compare(expected, wrong, 0.01).isPresent());
    }
  }

  @Test
  void oneBoxIsNotFoundTwice() {
    List<byte[]> twice =
        list(
            new float[][] {CAT, CAT, HAT}, new float[] {16, 16, 2}, new float[] {0.9f, 0.9f, 0.3f});
    assertTrue(Detections.compare(twice, expected, 0.01).isPresent());
  }

  @Test
  void theLastOneMayBePushedOffByOneAsGood() {
    List<byte[]> other =
        list(
            new float[][] {CAT, DOG, {0.8f, 0.8f, 0.9f, 0.9f}},
            new float[] {16, 17, 5},
            new float[] {0.9f, 0.6f, 0.31f});
    assertEquals(Optional.empty(), Detections.compare(expected, other, 0.02));
  }
}
