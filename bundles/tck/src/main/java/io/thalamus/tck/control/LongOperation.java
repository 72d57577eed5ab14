// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.control;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.extension.ThalamusExtension;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Operations, and chains of them, with billions of steps in little memory: long on any device, and
 * less than some minutes on one that cannot be stopped.
 */
enum LongOperation {
  CONV_2D(graph -> graph.convolution(TENSOR_FLOAT32, Quantization.NONE, Quantization.NONE)),
  CONV_2D_QUANT8(
      graph ->
          graph.convolution(
              TENSOR_QUANT8_ASYMM,
              new Quantization.PerTensor(0.25f, 0),
              new Quantization.PerTensor(0.0625f, 0))),
  FULLY_CONNECTED(
      graph -> {
        int input = graph.input(TENSOR_FLOAT32, 2048, 3600);
        int weights = graph.constant(TENSOR_FLOAT32, Quantization.NONE, 1024, 3600);
        int bias = graph.constant(TENSOR_FLOAT32, Quantization.NONE, 1024);
        graph.operation(
            OperationCode.FULLY_CONNECTED,
            List.of(input, weights, bias, graph.builder.int32(0)),
            graph.output(TENSOR_FLOAT32, 2048, 1024));
      }),
  /** A chain: elementwise operations are long only where there are many of them. */
  ADD(
      graph ->
          graph.chain(
              (from, to) ->
                  graph.operation(
                      OperationCode.ADD, List.of(from, from, graph.builder.int32(0)), to))),
  /** A chain. */
  RELU(graph -> graph.chain((from, to) -> graph.operation(OperationCode.RELU, List.of(from), to))),
  /** Nine million samples in each cell of the result. */
  ROI_ALIGN(
      graph -> {
        int image = graph.input(TENSOR_FLOAT32, 1, 4, 4, 1);
        int boxes = graph.input(TENSOR_FLOAT32, 1, 4);
        int images = graph.input(TENSOR_INT32, 1);
        int cells = graph.builder.int32(16);
        int one = graph.builder.float32(1);
        int samples = graph.builder.int32(3000);
        int nhwc = graph.builder.bool(false);
        graph.operation(
            OperationCode.ROI_ALIGN,
            List.of(image, boxes, images, cells, cells, one, one, samples, samples, nhwc),
            graph.output(TENSOR_FLOAT32, 1, 16, 16, 1));
      }),
  BATCH_MATMUL(
      graph -> {
        int first = graph.input(TENSOR_FLOAT32, 1, 1024, 4096);
        int second = graph.input(TENSOR_FLOAT32, 1, 4096, 1024);
        int no = graph.builder.bool(false);
        graph.builder.operation(
            ThalamusExtension.BATCH_MATMUL,
            List.of(first, second, no, no),
            List.of(graph.output(TENSOR_FLOAT32, 1, 1024, 1024)));
      }),
  /** Each element looks at all others. */
  LOCAL_RESPONSE_NORMALIZATION(
      graph -> {
        int input = graph.input(TENSOR_FLOAT32, 1, 1, 1, 1 << 16);
        int radius = graph.builder.int32(1 << 16);
        int one = graph.builder.float32(1);
        graph.operation(
            OperationCode.LOCAL_RESPONSE_NORMALIZATION,
            List.of(input, radius, one, one, one),
            graph.output(TENSOR_FLOAT32, 1, 1, 1, 1 << 16));
      });

  private static final Quantization BIAS = new Quantization.PerTensor(0.25f * 0.0625f, 0);

  private final Consumer<Graph> build;

  LongOperation(Consumer<Graph> build) {
    this.build = build;
  }

  /**
   * Returns whether there are many operations, between which every device must be ready to stop.
   */
  boolean isChain() {
    return this == ADD || this == RELU;
  }

  /**
   * The model.
   *
   * @param weights from {@link #newWeights}; must outlive the model
   */
  Model model(SharedMemory weights) {
    Graph graph = new Graph(weights);
    build.accept(graph);
    return Model.of(graph.builder.build());
  }

  /** Returns memory for constants, all zero. */
  static SharedMemory newWeights() {
    return SharedMemory.allocate(MemoryKind.ASHMEM, Graph.WEIGHTS);
  }

  /** A graph of one operation. */
  private static final class Graph {
    private static final int CHANNELS = 64;
    private static final int SIZE = 128;
    private static final int WINDOW = 15;
    private static final int CHAIN = 200;
    private static final int CHAIN_ELEMENTS = 1 << 20;
    private static final long WEIGHTS = 4L * 1024 * 3600;

    private final SubgraphBuilder builder = new SubgraphBuilder();
    private final SharedMemory weights;

    Graph(SharedMemory weights) {
      this.weights = weights;
    }

    int input(OperandCode type, int... dimensions) {
      return builder.input("", type, Shape.of(dimensions), Quantization.NONE);
    }

    int output(OperandCode type, int... dimensions) {
      return builder.output("", type, Shape.of(dimensions), Quantization.NONE);
    }

    void operation(OperationCode code, List<Integer> inputs, int output) {
      builder.operation(code, inputs, List.of(output));
    }

    private int constant(OperandCode type, Quantization quantization, int... dimensions) {
      Shape shape = Shape.of(dimensions);
      Lifetime.Constant place =
          SubgraphBuilder.place(weights, 0, shape.elementCount() * type.elementSize());
      return builder.constant("", type, shape, quantization, place);
    }

    /** Many operations, each on the result of the one before. */
    void chain(BiConsumer<Integer, Integer> operation) {
      int from = input(TENSOR_FLOAT32, CHAIN_ELEMENTS);
      for (int i = 1; i < CHAIN; i++) {
        int to = builder.temporary("", TENSOR_FLOAT32, Shape.of(CHAIN_ELEMENTS), Quantization.NONE);
        operation.accept(from, to);
        from = to;
      }
      operation.accept(from, output(TENSOR_FLOAT32, CHAIN_ELEMENTS));
    }

    void convolution(OperandCode type, Quantization data, Quantization filter) {
      Shape shape = Shape.of(1, SIZE, SIZE, CHANNELS);
      boolean isFloat = type == TENSOR_FLOAT32;
      int same = builder.int32(1);
      int one = builder.int32(1);
      int none = builder.int32(0);
      int image = builder.input("", type, shape, data);
      int window = constant(type, filter, CHANNELS, WINDOW, WINDOW, CHANNELS);
      int bias =
          constant(isFloat ? type : TENSOR_INT32, isFloat ? Quantization.NONE : BIAS, CHANNELS);
      int result = builder.output("", type, shape, data);
      operation(OperationCode.CONV_2D, List.of(image, window, bias, same, one, one, none), result);
    }
  }
}
