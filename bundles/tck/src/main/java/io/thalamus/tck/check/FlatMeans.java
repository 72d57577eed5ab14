// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.util.List;

/**
 * MEAN and INSTANCE_NORMALIZATION over images whose channels hardly vary, against the formula in
 * float64. A sum of floats that rounds at each element misses such a mean by more than the elements
 * differ from it, and a normalization enlarges that.
 */
public final class FlatMeans {
  private static final int SIDE = 384;

  /** A difference from the mean; the deviation, as half of the elements are above the mean. */
  private static final float STEP = 0.125f;

  private static final float EPSILON = 1e-5f;
  private static final double MEAN_TOLERANCE = 1e-3;
  private static final double TOLERANCE = 2e-2;

  private FlatMeans() {}

  /** Fails where a mean is wrong, of narrow and wide rows, and of channels that stand apart. */
  public static void checkMeans(Device device) throws DeviceException {
    checkMeans(device, Shape.of(1, SIDE, SIDE, 3), 1, 2);
    checkMeans(device, Shape.of(1, SIDE, SIDE, 32), 1, 2);
    checkMeans(device, Shape.of(1, 3, SIDE, SIDE), 2, 3);
  }

  /** Fails where an image is normalized by a wrong mean. */
  public static void checkInstances(Device device) throws DeviceException {
    checkInstances(device, Shape.of(1, SIDE, SIDE, 3), false);
    checkInstances(device, Shape.of(1, 3, SIDE, SIDE), true);
  }

  private static float middle(int channel) {
    return 100.3f + channel;
  }

  /** The elements of an image: half of each channel's are above its middle, and half below. */
  private static float[] values(Shape shape, boolean areApart) {
    int cells = SIDE * SIDE;
    float[] values = new float[(int) shape.elementCount()];
    int channels = values.length / cells;
    for (int i = 0; i < values.length; i++) {
      int cell = areApart ? i % cells : i / channels;
      int channel = areApart ? i / cells : i % channels;
      values[i] = middle(channel) + (cell % 2 == 0 ? STEP : -STEP);
    }
    return values;
  }

  private static void checkMeans(Device device, Shape shape, int... axes) throws DeviceException {
    boolean areApart = axes[1] == 3;
    int channels = shape.dimension(areApart ? 1 : 3);
    float[] values = values(shape, areApart);
    float[] means;
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, shape.toArray());
      int along = graph.int32Vector(axes);
      int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, 1, channels);
      graph.operation(OperationCode.MEAN, List.of(input, along, graph.int32(0)), output);
      means = TestGraph.floats(TestGraph.run(device, graph.model(), TestGraph.bytes(values)));
    }
    for (int channel = 0; channel < channels; channel++) {
      double wanted = mean(values, shape, areApart, channel);
      Expect.that(
          Math.abs(means[channel] - wanted) <= MEAN_TOLERANCE,
          "the mean of channel %d of %s is %s, not %s"
              .formatted(channel, shape, means[channel], wanted));
    }
  }

  private static double mean(float[] values, Shape shape, boolean areApart, int channel) {
    int cells = SIDE * SIDE;
    int channels = values.length / cells;
    double sum = 0;
    for (int cell = 0; cell < cells; cell++) {
      sum += values[areApart ? channel * cells + cell : cell * channels + channel];
    }
    return sum / cells;
  }

  private static void checkInstances(Device device, Shape shape, boolean areApart)
      throws DeviceException {
    float[] values = values(shape, areApart);
    float[] results;
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, shape.toArray());
      int output = graph.output(TENSOR_FLOAT32, Quantization.NONE, shape.toArray());
      graph.operation(
          OperationCode.INSTANCE_NORMALIZATION,
          List.of(
              input,
              graph.float32(1),
              graph.float32(0),
              graph.float32(EPSILON),
              graph.bool(areApart)),
          output);
      results = TestGraph.floats(TestGraph.run(device, graph.model(), TestGraph.bytes(values)));
    }
    double[] means = new double[3];
    for (int channel = 0; channel < means.length; channel++) {
      means[channel] = mean(values, shape, areApart, channel);
    }
    int cells = SIDE * SIDE;
    for (int i = 0; i < results.length; i++) {
      double difference = values[i] - means[areApart ? i / cells : i % means.length];
      double wanted = difference / Math.sqrt(difference * difference + EPSILON);
      Expect.that(
          Math.abs(results[i] - wanted) <= TOLERANCE,
          "element %d of %s is %s when normalized, not %s".formatted(i, shape, results[i], wanted));
    }
  }
}
