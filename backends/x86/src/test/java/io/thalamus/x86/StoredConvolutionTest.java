// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL;
import static io.thalamus.x86.RandomGraphs.compare;
import static io.thalamus.x86.RandomGraphs.stored;
import static io.thalamus.x86.RandomGraphs.storedType;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.IntRange;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** 8-bit convolutions of random shapes, each call between guard pages, against the reference. */
class StoredConvolutionTest {
  private static final int[] CHANNELS = {1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 32, 33, 40, 65, 100};
  private static final int[] MULTIPLIERS = {1, 1, 2, 3};
  private static final int[] ACTIVATIONS = {0, 0, 1, 2, 3};

  /** A graph of one layer, with numbers of any size that are valid together. */
  private static final class Layer {
    final TestGraph graph;
    final Random random;
    final OperandCode type;
    final boolean isPerChannel;
    final float inputScale;
    final int input;
    final byte[] data;
    float filterScale;

    Layer(TestGraph graph, Random random, boolean mayBePerChannel, int... shape) {
      this.graph = graph;
      this.random = random;
      type = storedType(random);
      isPerChannel = mayBePerChannel && random.nextBoolean();
      inputScale = 0.01f + random.nextFloat();
      input = graph.input(type, Quantization.of(inputScale, zeroPoint()), shape);
      data = stored(random, shape);
      if (random.nextInt(4) == 0) {
        // Nothing but the largest: sums of products are as far from 0 as they can be.
        Arrays.fill(data, (byte) IntRange.of(type).max());
      }
    }

    int zeroPoint() {
      IntRange range = IntRange.of(type);
      return switch (random.nextInt(4)) {
        case 0 -> range.min();
        case 1 -> range.max();
        default -> range.min() + random.nextInt(256);
      };
    }

    int filter(int channelDimension, int channels, int... shape) {
      byte[] weights = stored(random, shape);
      filterScale = 0.001f + random.nextFloat();
      int zeroPoint = isPerChannel ? 0 : zeroPoint();
      if (random.nextBoolean()) {
        // So near the zero point, or not quite, that sums of two products fit 16 bits.
        int most = random.nextBoolean() ? 128 : 132;
        for (int i = 0; i < weights.length; i++) {
          int near = zeroPoint + random.nextInt(most) - 64;
          weights[i] = (byte) Math.clamp(near, IntRange.of(type).min(), IntRange.of(type).max());
        }
      }
      if (!isPerChannel) {
        return graph.constant(type, Quantization.of(filterScale, zeroPoint), weights, shape);
      }
      float[] scales = new float[channels];
      for (int i = 0; i < channels; i++) {
        scales[i] = filterScale * (0.01f + random.nextFloat());
        if (isAlwaysTheSame(i)) {
          scales[i] = filterScale * (random.nextBoolean() ? 1e-3f : 1e-12f);
        }
      }
      for (int i = 0; i < weights.length; i++) {
        weights[i] = weights[i] == -128 ? 0 : weights[i];
      }
      return graph.constant(
          TENSOR_QUANT8_SYMM_PER_CHANNEL,
          new Quantization.PerChannel(channelDimension, scales),
          weights,
          shape);
    }

    /** As a channel is whose weights training has let vanish: the bias alone has a size. */
    private boolean isAlwaysTheSame(int channel) {
      return isPerChannel && channel % 5 == 3;
    }

    int bias(int channels) {
      int[] values = new int[channels];
      for (int i = 0; i < channels; i++) {
        values[i] = random.nextInt(200_000) - 100_000;
        if (isAlwaysTheSame(i)) {
          values[i] = (1 << 30) * (random.nextBoolean() ? 1 : -1) + random.nextInt(256) - 128;
        }
      }
      Quantization scale = Quantization.of(isPerChannel ? 0 : inputScale * filterScale, 0);
      return graph.constant(TENSOR_INT32, scale, TestGraph.bytes(values), channels);
    }

    /** Products of some depth fill the range of results, or a small part, or far too much. */
    int output(int depth, int... shape) {
      double spread = Math.sqrt(depth) * Math.pow(4, random.nextInt(7) - 3);
      float scale = (float) (inputScale * filterScale * spread * 50);
      if (random.nextInt(4) == 0) {
        scale = inputScale * filterScale * 2f / (1 << random.nextInt(8));
      }
      // Where larger factors could overflow, the device leaves the layer to others.
      double most = (1L << 28) / (depth * 65_025.0 + 100_000);
      scale = (float) Math.max(scale, inputScale * filterScale * 1.01 / most);
      return graph.output(type, Quantization.of(scale, zeroPoint()), shape);
    }
  }

  @ParameterizedTest
  @EnumSource
  void convolutionsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          boolean isDepthwise = random.nextBoolean();
          int batch = 1 + random.nextInt(2);
          int channels = pick(random, CHANNELS);
          int outputs =
              isDepthwise && channels > 1
                  ? channels * pick(random, MULTIPLIERS)
                  : pick(random, CHANNELS);
          WindowShape shape = new WindowShape(random, 4);
          Layer layer =
              new Layer(graph, random, true, batch, shape.cells[0], shape.cells[1], channels);
          int filter =
              isDepthwise
                  ? layer.filter(3, outputs, 1, shape.sizes[0], shape.sizes[1], outputs)
                  : layer.filter(0, outputs, outputs, shape.sizes[0], shape.sizes[1], channels);
          List<Integer> in =
              shape.inputs(
                  graph,
                  List.of(layer.input, filter, layer.bias(outputs)),
                  isDepthwise ? outputs / channels : 0,
                  pick(random, ACTIVATIONS));
          int depth = shape.sizes[0] * shape.sizes[1] * (isDepthwise ? 1 : channels);
          int output = layer.output(depth, batch, shape.results[0], shape.results[1], outputs);
          OperationCode code =
              isDepthwise ? OperationCode.DEPTHWISE_CONV_2D : OperationCode.CONV_2D;
          graph.operation(TestGraph.anyRounding(random, code), in, output);
          return new byte[][] {layer.data};
        });
  }

  @ParameterizedTest
  @EnumSource
  void transposedConvolutionsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          int batch = 1 + random.nextInt(2);
          SpreadShape shape = new SpreadShape(random);
          int channels = pick(random, CHANNELS);
          int outputs = pick(random, CHANNELS);
          Layer layer =
              new Layer(graph, random, true, batch, shape.cells[0], shape.cells[1], channels);
          int filter = layer.filter(0, outputs, outputs, shape.sizes[0], shape.sizes[1], channels);
          List<Integer> in = new ArrayList<>(List.of(layer.input, filter, layer.bias(outputs)));
          for (int side : new int[] {2, 3, 0, 1}) {
            in.add(graph.int32(shape.padding[side]));
          }
          in.add(graph.int32(shape.strides[1]));
          in.add(graph.int32(shape.strides[0]));
          in.add(graph.int32(pick(random, ACTIVATIONS)));
          in.add(graph.bool(false));
          int output =
              layer.output(
                  shape.sizes[0] * shape.sizes[1] * channels,
                  batch,
                  shape.results[0],
                  shape.results[1],
                  outputs);
          graph.operation(OperationCode.TRANSPOSE_CONV_2D, in, output);
          return new byte[][] {layer.data};
        });
  }

  @ParameterizedTest
  @EnumSource
  void groupedConvolutionsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          int batch = 1 + random.nextInt(2);
          int height = 3 + random.nextInt(6);
          int width = 3 + random.nextInt(8);
          int groups = 1 + random.nextInt(5);
          int run = 1 + random.nextInt(9);
          int outputs = groups * (1 + random.nextInt(20));
          int side = 1 + random.nextInt(3);
          int stride = 1 + random.nextInt(2);
          Layer layer = new Layer(graph, random, true, batch, height, width, groups * run);
          int filter = layer.filter(0, outputs, outputs, side, side, run);
          List<Integer> in = new ArrayList<>(List.of(layer.input, filter, layer.bias(outputs)));
          for (int number : new int[] {1, stride, stride, groups, pick(random, ACTIVATIONS)}) {
            in.add(graph.int32(number));
          }
          in.add(graph.bool(false));
          int output =
              layer.output(
                  side * side * run,
                  batch,
                  Math.ceilDiv(height, stride),
                  Math.ceilDiv(width, stride),
                  outputs);
          graph.operation(TestGraph.anyRounding(random, OperationCode.GROUPED_CONV_2D), in, output);
          return new byte[][] {layer.data};
        });
  }

  @ParameterizedTest
  @EnumSource
  void productsEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          int batch = 1 + random.nextInt(9);
          int size = 1 + random.nextInt(70);
          int units = pick(random, CHANNELS) + random.nextInt(2) * 100;
          Layer layer = new Layer(graph, random, false, batch, size);
          int filter = layer.filter(0, units, units, size);
          List<Integer> in =
              List.of(
                  layer.input, filter, layer.bias(units), graph.int32(pick(random, ACTIVATIONS)));
          graph.operation(
              TestGraph.anyRounding(random, OperationCode.FULLY_CONNECTED),
              in,
              layer.output(size, batch, units));
          return new byte[][] {layer.data};
        });
  }

  @ParameterizedTest
  @EnumSource
  void fewResultsOfMuchEqualTheReference(Level level) throws Exception {
    compare(
        level,
        0,
        (graph, random) -> {
          // Whole vectors, or hardly less: the last group is a part of one.
          int vectors = 32 * (2 + random.nextInt(8)) - random.nextInt(4);
          int size = random.nextBoolean() ? vectors : 60 + random.nextInt(300);
          int units = 1 + random.nextInt(9);
          Layer layer = new Layer(graph, random, false, 1, size);
          int filter = layer.filter(0, units, units, size);
          List<Integer> in =
              List.of(
                  layer.input, filter, layer.bias(units), graph.int32(pick(random, ACTIVATIONS)));
          graph.operation(
              TestGraph.anyRounding(random, OperationCode.FULLY_CONNECTED),
              in,
              layer.output(size, 1, units));
          return new byte[][] {layer.data};
        });
  }

  private static int pick(Random random, int... values) {
    return values[random.nextInt(values.length)];
  }
}
