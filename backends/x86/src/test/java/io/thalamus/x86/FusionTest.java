// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.Quantization.NONE;
import static io.thalamus.x86.RandomGraphs.floats;
import static io.thalamus.x86.RandomGraphs.stored;
import static io.thalamus.x86.RandomGraphs.storedType;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.driver.StaticGraph;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.compile.Program;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Sums and concatenations whose work is done by the layers before them, against the reference. */
class FusionTest {
  private static final int[] CHANNELS = {1, 3, 8, 16, 17, 24, 40};

  /** A network of layers on pictures with a batch, a height and a width. */
  private static final class Network {
    final TestGraph graph;
    final Random random;
    final int[] picture;

    Network(TestGraph graph, Random random, int... picture) {
      this.graph = graph;
      this.random = random;
      this.picture = picture;
    }

    int[] shape(int channels) {
      return new int[] {picture[0], picture[1], picture[2], channels};
    }

    int tensor(int channels) {
      return graph.temporary(TENSOR_FLOAT32, NONE, shape(channels));
    }

    int input(int channels) {
      return graph.input(TENSOR_FLOAT32, NONE, shape(channels));
    }

    int output(int channels) {
      return graph.output(TENSOR_FLOAT32, NONE, shape(channels));
    }

    private int constant(double scale, int... shape) {
      return graph.constant(TENSOR_FLOAT32, NONE, floats(random, scale, shape), shape);
    }

    private void operation(OperationCode code, int result, List<Integer> tensors, int... numbers) {
      List<Integer> inputs = new ArrayList<>(tensors);
      IntStream.of(numbers).forEach(number -> inputs.add(graph.int32(number)));
      graph.operation(code, inputs, result);
    }

    int convolution(int from, int channels, int to, int results, int activation) {
      int side = 1 + 2 * random.nextInt(2);
      int filter = constant(1 / Math.sqrt(side * side * channels), results, side, side, channels);
      List<Integer> tensors = List.of(from, filter, constant(1, results));
      operation(OperationCode.CONV_2D, to, tensors, 1, 1, 1, activation);
      return to;
    }

    /** Adds a layer of 8 channels without an activation. */
    int layer(int from) {
      return convolution(from, 8, tensor(8), 8, 0);
    }

    int depthwise(int from, int channels, int to) {
      int filter = constant(0.3, 1, 3, 3, channels);
      List<Integer> tensors = List.of(from, filter, constant(1, channels));
      operation(OperationCode.DEPTHWISE_CONV_2D, to, tensors, 1, 1, 1, 1, random.nextInt(4));
      return to;
    }

    int add(int first, int second, int to) {
      operation(OperationCode.ADD, to, List.of(first, second), random.nextInt(4));
      return to;
    }

    int concatenation(List<Integer> parts, int to) {
      operation(OperationCode.CONCATENATION, to, parts, 3);
      return to;
    }

    /** A layer, and perhaps a function of it. */
    private int branch(int from, int channels, int results) {
      int kind = random.nextInt(5);
      if (kind == 0 && results == channels) {
        return depthwise(from, channels, tensor(channels));
      }
      int layer = convolution(from, channels, tensor(results), results, 0);
      if (kind > 1) {
        return layer;
      }
      int function = tensor(results);
      graph.operation(OperationCode.LOGISTIC, List.of(layer), function);
      return function;
    }

    /** Adds a block whose result has some channels, and is an output in the end. */
    int block(int from, int channels, boolean isLast) {
      int to = isLast ? output(channels) : tensor(channels);
      if (random.nextBoolean()) {
        int first = random.nextBoolean() ? from : branch(from, channels, channels);
        int second = branch(random.nextBoolean() ? from : first, channels, channels);
        return random.nextBoolean() ? add(first, second, to) : add(second, first, to);
      }
      int width = 0;
      List<Integer> parts = new ArrayList<>();
      while (parts.size() < 3) {
        int own = random.nextBoolean() ? channels : CHANNELS[random.nextInt(CHANNELS.length)];
        parts.add(branch(from, channels, own));
        width += own;
        if (random.nextInt(4) == 0) {
          parts.add(random.nextBoolean() ? from : parts.getLast());
          width += parts.getLast() == from ? channels : own;
        }
      }
      int together = concatenation(parts, tensor(width));
      return convolution(together, width, to, channels, random.nextInt(4));
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void networksEqualTheReference(Level level) throws Exception {
    RandomGraphs.compare(
        level,
        1e-4,
        (graph, random) -> {
          int[] picture = {1 + random.nextInt(2), 1 + random.nextInt(9), 1 + random.nextInt(9)};
          Network network = new Network(graph, random, picture);
          int channels = CHANNELS[random.nextInt(CHANNELS.length)];
          int value = network.input(channels);
          int blocks = 2 + random.nextInt(4);
          for (int i = 0; i < blocks; i++) {
            value = network.block(value, channels, i == blocks - 1);
          }
          return new byte[][] {floats(random, 1, network.shape(channels))};
        });
  }

  @ParameterizedTest
  @EnumSource
  void concatenationsOfBytesEqualTheReference(Level level) throws Exception {
    RandomGraphs.compare(
        level,
        0,
        (graph, random) -> {
          OperandCode type = storedType(random);
          int middle = type == OperandCode.TENSOR_QUANT8_ASYMM ? 128 : 0;
          int side = 1 + random.nextInt(7);
          int channels = 2 + random.nextInt(70);
          int[] shape = {1 + random.nextInt(2), side, 1 + random.nextInt(7), channels};
          int input = graph.input(type, Quantization.of(0.5f, middle), shape);
          List<Integer> operands = new ArrayList<>();
          int width = 0;
          for (int i = 0; i < 3; i++) {
            boolean isDepthwise = random.nextInt(3) == 0;
            int own = isDepthwise ? channels : 1 + random.nextInt(70);
            // Where the scale is another one, bytes are not copied as they are.
            float scale = random.nextInt(5) == 0 ? 3 : 2;
            int part =
                graph.temporary(
                    type, Quantization.of(scale, middle), shape[0], shape[1], shape[2], own);
            layer(graph, random, input, part, isDepthwise, channels, own, middle);
            operands.add(part);
            width += own;
          }
          operands.add(graph.int32(3));
          int output =
              graph.output(type, Quantization.of(2, middle), shape[0], shape[1], shape[2], width);
          graph.operation(OperationCode.CONCATENATION, operands, output);
          return new byte[][] {stored(random, shape)};
        });
  }

  private static void layer(
      TestGraph graph,
      Random random,
      int from,
      int to,
      boolean isDepthwise,
      int channels,
      int results,
      int zeroPoint) {
    int size = 1 + 2 * random.nextInt(2);
    int[] shape =
        isDepthwise
            ? new int[] {1, size, size, channels}
            : new int[] {results, size, size, channels};
    OperandCode type =
        zeroPoint == 0 ? OperandCode.TENSOR_QUANT8_ASYMM_SIGNED : OperandCode.TENSOR_QUANT8_ASYMM;
    int filter =
        graph.constant(type, Quantization.of(0.01f, zeroPoint), stored(random, shape), shape);
    int bias =
        graph.constant(
            TENSOR_INT32,
            Quantization.of(0.5f * 0.01f, 0),
            TestGraph.bytes(random.ints(results, -1000, 1000).toArray()),
            results);
    List<Integer> operands = new ArrayList<>(List.of(from, filter, bias));
    int[] numbers = isDepthwise ? new int[] {1, 1, 1, 1, 0} : new int[] {1, 1, 1, 0};
    IntStream.of(numbers).forEach(number -> operands.add(graph.int32(number)));
    graph.operation(
        isDepthwise ? OperationCode.DEPTHWISE_CONV_2D : OperationCode.CONV_2D, operands, to);
  }

  /** Makes a network that ends with the operation in question. */
  @FunctionalInterface
  private interface Body {
    void add(Network network);
  }

  /** Returns the calls of the last operation. */
  private static int calls(Level level, Body body) throws Exception {
    Levels.assume(level);
    try (X86Device device = Levels.device(level);
        TestGraph graph = new TestGraph()) {
      body.add(new Network(graph, new Random(1), 1, 5, 5));
      StaticGraph resolved = StaticGraph.resolve(graph.model().main(), OperationCatalog.standard());
      Program program = device.compile(resolved, level, PrepareConfig.DEFAULT);
      program.constants().close();
      int last = program.operations().length - 1;
      return program.operations()[last] - program.operations()[last - 1];
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void sumThatALayerCanAddHasNoCalls(Level level) throws Exception {
    assertEquals(
        0,
        calls(
            level,
            network -> {
              int from = network.input(8);
              int addend = network.convolution(from, 8, network.tensor(8), 8, 1);
              int layer = network.layer(addend);
              int sum = network.layer(layer);
              network.add(addend, sum, network.output(8));
            }));
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void sumThatWouldReplaceWhatOthersReadHasCalls(Level level) throws Exception {
    assertEquals(
        1,
        calls(
            level,
            network -> {
              int from = network.input(8);
              network.add(from, network.layer(from), network.output(8));
            }),
        "an input");
    assertEquals(
        1,
        calls(
            level,
            network -> {
              int addend = network.convolution(network.input(8), 8, network.output(8), 8, 0);
              int layer = network.layer(addend);
              int sum = network.layer(layer);
              network.add(addend, sum, network.output(8));
            }),
        "an output");
    assertEquals(
        1,
        calls(
            level,
            network -> {
              int addend = network.layer(network.input(8));
              int sum = network.layer(addend);
              network.add(addend, sum, network.output(8));
            }),
        "the layer's own source");
    assertEquals(
        1,
        calls(
            level,
            network -> {
              int from = network.input(8);
              int addend = network.layer(from);
              int sum = network.layer(from);
              network.depthwise(addend, 8, network.output(8));
              network.add(addend, sum, network.output(8));
            }),
        "what is read after the layer");
    assertEquals(
        1,
        calls(
            level,
            network -> {
              int from = network.input(8);
              int addend = network.layer(from);
              int sum = network.convolution(from, 8, network.tensor(8), 8, 3);
              network.add(addend, sum, network.output(8));
            }),
        "a layer with an activation");
  }

  @ParameterizedTest
  @EnumSource(names = {"AVX2", "AVX512"})
  void concatenationOfLayersHasNoCalls(Level level) throws Exception {
    assertEquals(
        0,
        calls(
            level,
            network -> {
              int from = network.input(8);
              int first = network.convolution(from, 8, network.tensor(17), 17, 1);
              int second = network.depthwise(from, 8, network.tensor(8));
              network.concatenation(List.of(first, second), network.output(25));
            }));
    assertEquals(
        1,
        calls(
            level,
            network -> {
              int from = network.input(8);
              int first = network.convolution(from, 8, network.tensor(17), 17, 1);
              network.concatenation(List.of(first, from), network.output(25));
            }),
        "an input is copied");
  }
}
