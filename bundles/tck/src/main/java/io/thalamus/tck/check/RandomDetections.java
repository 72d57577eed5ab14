// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.Quantization.NONE;

import io.thalamus.model.OperationCode;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * DETECTION_POSTPROCESSING of random boxes, in all its forms. Scores tie, or are no numbers; boxes
 * overlap by just the threshold, are empty, infinite or no numbers. All exponentials are of numbers
 * that have the same one on each device, so that the same boxes must be chosen.
 */
public final class RandomDetections {
  private static final float[] SCORES = {
    0, -0f, 1, -1, 0.5f, 2, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY
  };

  private static final float[] LOGARITHMS = {0, 0, 0, 0, 0, 0, 0, 0, 1000, -1000, Float.NaN};

  private RandomDetections() {}

  /**
   * Adds the operation to a graph, and its outputs in any order.
   *
   * @return the inputs
   */
  public static byte[][] fill(TestGraph graph, Random random) {
    int images = 1 + random.nextInt(3);
    int boxes = 1 + random.nextInt(random.nextInt(4) == 0 ? 300 : 50);
    int classes = 2 + random.nextInt(one(random, 1, 4, 40));
    int length = 4 + random.nextInt(3);
    boolean isRegular = random.nextBoolean();
    int most = 1 + random.nextInt(random.nextBoolean() ? 5 : boxes + 5);
    int shown = 1 + random.nextInt(random.nextBoolean() ? 1 : classes + 1);
    int rows = isRegular ? most : most * shown;
    List<Integer> inputs =
        List.of(
            graph.input(TENSOR_FLOAT32, NONE, images, boxes, classes),
            graph.input(TENSOR_FLOAT32, NONE, images, boxes, length),
            graph.input(TENSOR_FLOAT32, NONE, boxes, 4),
            graph.float32(one(random, 1, 10)),
            graph.float32(one(random, 1, 10)),
            graph.float32(one(random, 1, 5)),
            graph.float32(one(random, 1, 5)),
            graph.bool(isRegular),
            graph.int32(most),
            graph.int32(shown),
            graph.int32(1 + random.nextInt(random.nextBoolean() ? 5 : boxes + 5)),
            graph.float32(one(random, 0, 0, 1, 2, 8) / 4f),
            graph.float32(one(random, 0, 1, 2, 2, 3, 4, 8) / 4f),
            graph.bool(random.nextBoolean()));
    int[] outputs = new int[4];
    int first = random.nextInt(4);
    for (int i = first; i < first + 4; i++) {
      outputs[i % 4] =
          switch (i % 4) {
            case 0 -> graph.output(TENSOR_FLOAT32, NONE, images, rows);
            case 1 -> graph.output(TENSOR_FLOAT32, NONE, images, rows, 4);
            case 2 -> graph.output(TENSOR_INT32, NONE, images, rows);
            default -> graph.output(TENSOR_INT32, NONE, images);
          };
    }
    graph.operation(
        OperationCode.DETECTION_POSTPROCESSING, inputs, Arrays.stream(outputs).boxed().toList());
    return new byte[][] {
      TestGraph.bytes(scores(random, images * boxes * classes)),
      TestGraph.bytes(deltas(random, images * boxes, length)),
      TestGraph.bytes(anchors(random, boxes))
    };
  }

  private static int one(Random random, int... of) {
    return of[random.nextInt(of.length)];
  }

  private static float[] scores(Random random, int count) {
    int way = random.nextInt(3);
    float[] scores = new float[count];
    for (int i = 0; i < count; i++) {
      scores[i] =
          switch (way) {
            case 0 -> random.nextFloat();
            case 1 -> random.nextInt(5) / 4f;
            default -> SCORES[random.nextInt(SCORES.length)];
          };
    }
    return scores;
  }

  private static float[] deltas(Random random, int boxes, int length) {
    float[] deltas = new float[boxes * length];
    for (int i = 0; i < deltas.length; i++) {
      boolean isCenter = i % length < 2;
      deltas[i] = isCenter ? random.nextInt(9) - 4 : LOGARITHMS[random.nextInt(LOGARITHMS.length)];
    }
    return deltas;
  }

  private static float[] anchors(Random random, int boxes) {
    float[] anchors = new float[boxes * 4];
    for (int i = 0; i < anchors.length; i++) {
      boolean isCenter = i % 4 < 2;
      anchors[i] = random.nextInt(isCenter ? 20 : 9) / 2f;
    }
    return anchors;
  }
}
