// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.control;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.Quantization.NONE;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.check.TestGraph;
import java.util.List;
import java.util.function.Consumer;

/**
 * Operations, and chains of them, with billions of steps in little memory: long on any device, and
 * less than some minutes on one that cannot be stopped.
 */
enum LongOperation {
  CONV_2D(graph -> convolution(graph, TENSOR_FLOAT32, NONE, NONE, TENSOR_FLOAT32, NONE)),
  CONV_2D_QUANT8(
      graph ->
          convolution(
              graph,
              TENSOR_QUANT8_ASYMM,
              Quantization.of(0.25f, 0),
              Quantization.of(0.0625f, 0),
              TENSOR_INT32,
              Quantization.of(0.25f * 0.0625f, 0))),
  FULLY_CONNECTED(
      graph ->
          graph.operation(
              OperationCode.FULLY_CONNECTED,
              List.of(
                  graph.input(TENSOR_FLOAT32, NONE, 2048, 3600),
                  graph.zeros(TENSOR_FLOAT32, NONE, 1024, 3600),
                  graph.zeros(TENSOR_FLOAT32, NONE, 1024),
                  graph.int32(0)),
              graph.output(TENSOR_FLOAT32, NONE, 2048, 1024))),
  /** A chain: elementwise operations are long only where there are many of them. */
  ADD(graph -> chain(graph, OperationCode.ADD)),
  /** A chain. */
  RELU(graph -> chain(graph, OperationCode.RELU)),
  /** Nine million samples in each cell of the result. */
  ROI_ALIGN(
      graph -> {
        int cells = graph.int32(16);
        int one = graph.float32(1);
        int samples = graph.int32(3000);
        graph.operation(
            OperationCode.ROI_ALIGN,
            List.of(
                graph.input(TENSOR_FLOAT32, NONE, 1, 4, 4, 1),
                graph.input(TENSOR_FLOAT32, NONE, 1, 4),
                graph.input(TENSOR_INT32, NONE, 1),
                cells,
                cells,
                one,
                one,
                samples,
                samples,
                graph.bool(false)),
            graph.output(TENSOR_FLOAT32, NONE, 1, 16, 16, 1));
      }),
  BATCH_MATMUL(
      graph ->
          graph.operation(
              ThalamusExtension.BATCH_MATMUL,
              List.of(
                  graph.input(TENSOR_FLOAT32, NONE, 1, 1024, 4096),
                  graph.input(TENSOR_FLOAT32, NONE, 1, 4096, 1024),
                  graph.bool(false),
                  graph.bool(false)),
              graph.output(TENSOR_FLOAT32, NONE, 1, 1024, 1024))),
  /** Each element looks at all others. */
  LOCAL_RESPONSE_NORMALIZATION(
      graph -> {
        int input = graph.input(TENSOR_FLOAT32, NONE, 1, 1, 1, 1 << 16);
        int one = graph.float32(1);
        graph.operation(
            OperationCode.LOCAL_RESPONSE_NORMALIZATION,
            List.of(input, graph.int32(1 << 16), one, one, one),
            graph.output(TENSOR_FLOAT32, NONE, 1, 1, 1, 1 << 16));
      });

  private final Consumer<TestGraph> build;

  LongOperation(Consumer<TestGraph> build) {
    this.build = build;
  }

  /**
   * Returns whether there are many operations, between which every device must be ready to stop.
   */
  boolean isChain() {
    return this == ADD || this == RELU;
  }

  /** A graph of the operation, to be closed; all its constants are zero. */
  TestGraph graph() {
    TestGraph graph = new TestGraph();
    build.accept(graph);
    return graph;
  }

  private static void chain(TestGraph graph, OperationCode operation) {
    graph.chain(operation, TENSOR_FLOAT32, NONE, 200, 1 << 20);
  }

  private static void convolution(
      TestGraph graph,
      OperandCode type,
      Quantization data,
      Quantization filter,
      OperandCode biasType,
      Quantization bias) {
    int one = graph.int32(1);
    graph.operation(
        OperationCode.CONV_2D,
        List.of(
            graph.input(type, data, 1, 128, 128, 64),
            graph.zeros(type, filter, 64, 15, 15, 64),
            graph.zeros(biasType, bias, 64),
            one,
            one,
            one,
            graph.int32(0)),
        graph.output(type, data, 1, 128, 128, 64));
  }
}
