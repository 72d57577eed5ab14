// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;

/**
 * RESIZE_BILINEAR of 16-bit activations. TensorFlow Lite counts places in steps of a 1024th of a
 * pixel there, which such fine activations show: each axis is multiplied by the matrix of the
 * weights that come of these steps.
 */
final class WideResize {
  /** The steps of a pixel. */
  static final int STEPS = 1024;

  private static final int MOST = 4096;

  private WideResize() {}

  static void convert(Node node, int[] size, boolean align, boolean half) {
    int input = node.in(0);
    Shape shape = node.operand(input).shape();
    node.require(
        shape.rank() == 4
            && shape.isFullySpecified()
            && size[0] > 0
            && size[1] > 0
            && Math.max(size[0], size[1]) <= MOST
            && Math.max(shape.dimension(1), shape.dimension(2)) <= MOST,
        "it resizes data of shape " + shape);
    int batch = shape.dimension(0);
    int channels = shape.dimension(3);
    int width = shape.dimension(2);
    int rows = Math.multiplyExact(width, channels);
    int down = weights(node, shape.dimension(1), size[0], align, half);
    int tall =
        product(
            node,
            down,
            Reshape.reshaped(node, input, Shape.of(batch, shape.dimension(1), rows)),
            Shape.of(batch, size[0], rows));
    int across = weights(node, width, size[1], align, half);
    int whole =
        product(
            node,
            across,
            Reshape.reshaped(node, tall, Shape.of(batch * size[0], width, channels)),
            Shape.of(batch * size[0], size[1], channels));
    int output = node.out(0);
    node.builder().reshape(output, Shape.of(batch, size[0], size[1], channels));
    Reshape.emit(node, whole, output);
  }

  private static int product(Node node, int matrix, int data, Shape shape) {
    Operand like = node.operand(data);
    return node.compute(
        ThalamusExtension.BATCH_MATMUL,
        like,
        shape,
        matrix,
        data,
        node.bool(false),
        node.bool(false));
  }

  /** For each place of the output the weights of those of the input. */
  private static int weights(Node node, int from, int to, boolean align, boolean half) {
    int scale =
        align && to > 1
            ? (STEPS * (from - 1) + (to - 1) / 2) / (to - 1)
            : (STEPS * from + to / 2) / to;
    float[] weights = node.constants().room((long) from * to, node.output(0));
    for (int place = 0; place < to; place++) {
      int at = half ? place * scale + scale / 2 - STEPS / 2 : place * scale;
      int low = Math.min(Math.max(at / STEPS, 0), from - 1);
      int high = Math.clamp((at + STEPS - 1) / STEPS, 0, from - 1);
      float share = (at - low * STEPS) / (float) STEPS;
      weights[place * from + low] += 1 - share;
      weights[place * from + high] += share;
    }
    return node.float32Tensor(Shape.of(1, to, from), weights);
  }
}
