// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.kernel;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A model of one operation, in a size that occurs in a network of the literature. Immutable; owns
 * the memory of its constants.
 */
final class SingleOperation implements AutoCloseable {
  private static final int SAME = 1;
  private static final int VALID = 2;
  private static final int RELU6 = 3;
  private static final long SEED = 3;
  private static final float INPUT_SCALE = 0.02f;
  private static final float WEIGHT_SCALE = 0.01f;
  private static final float OUTPUT_SCALE = 0.05f;
  private static final float SOFTMAX_SCALE = 1 / 256f;
  private static final int ZERO_POINT = 128;

  private final SubgraphBuilder graph = new SubgraphBuilder();
  private final List<SharedMemory> pools = new ArrayList<>();
  private final SplittableRandom random = new SplittableRandom(SEED);
  private final OperandCode type;
  private final boolean isFloat;
  private final Model model;

  /**
   * The model of a kernel.
   *
   * @param type TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM
   */
  SingleOperation(Kernel kernel, OperandCode type) {
    this.type = type;
    this.isFloat = type == OperandCode.TENSOR_FLOAT32;
    switch (kernel) {
      case CONVOLUTION_1X1_14X14_512_512 -> convolution(14, 1, 1, 512, 512);
      case CONVOLUTION_1X1_56X56_64_256 -> convolution(56, 1, 1, 64, 256);
      case CONVOLUTION_3X3_56X56_64_64 -> convolution(56, 3, 1, 64, 64);
      case CONVOLUTION_3X3_14X14_256_256 -> convolution(14, 3, 1, 256, 256);
      case CONVOLUTION_3X3_7X7_512_512 -> convolution(7, 3, 1, 512, 512);
      case CONVOLUTION_7X7_STRIDE2_224X224_3_64 -> convolution(224, 7, 2, 3, 64);
      case DEPTHWISE_3X3_112X112_32 -> depthwise(112, 1, 32);
      case DEPTHWISE_3X3_STRIDE2_112X112_64 -> depthwise(112, 2, 64);
      case DEPTHWISE_3X3_14X14_512 -> depthwise(14, 1, 512);
      case FULLY_CONNECTED_1024_1000 -> fullyConnected(1024, 1000);
      case MAX_POOL_3X3_STRIDE2_112X112_64 -> pool(OperationCode.MAX_POOL_2D, 112, 3, 2, 64, SAME);
      case AVERAGE_POOL_7X7_1024 -> pool(OperationCode.AVERAGE_POOL_2D, 7, 7, 1, 1024, VALID);
      case ADD_56X56_256 -> pair(OperationCode.ADD);
      case MULTIPLY_56X56_256 -> pair(OperationCode.MUL);
      case LOGISTIC_56X56_256 -> {
        int in = input("in", 1, 56, 56, 256);
        graph.operation(
            OperationCode.LOGISTIC, List.of(in), List.of(output(SOFTMAX_SCALE, 0, 1, 56, 56, 256)));
      }
      case SOFTMAX_1000 -> {
        int in = input("in", 1, 1000);
        graph.operation(
            OperationCode.SOFTMAX,
            List.of(in, graph.float32(1)),
            List.of(output(SOFTMAX_SCALE, 0, 1, 1000)));
      }
    }
    model = Model.of(graph.build());
  }

  Model model() {
    return model;
  }

  private int input(String name, int... shape) {
    return graph.input(name, type, Shape.of(shape), quantization(INPUT_SCALE, ZERO_POINT));
  }

  private int output(float scale, int zeroPoint, int... shape) {
    return graph.output("out", type, Shape.of(shape), quantization(scale, zeroPoint));
  }

  private Quantization quantization(float scale, int zeroPoint) {
    return isFloat ? Quantization.NONE : Quantization.of(scale, zeroPoint);
  }

  private int weights(int... dimensions) {
    Shape shape = Shape.of(dimensions);
    SharedMemory pool = pool(shape.elementCount() * type.elementSize());
    for (long i = 0; i < shape.elementCount(); i++) {
      if (isFloat) {
        pool.segment()
            .setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, (float) random.nextDouble(-1, 1));
      } else {
        pool.segment().set(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt());
      }
    }
    return graph.constant(
        "weights",
        type,
        shape,
        quantization(WEIGHT_SCALE, ZERO_POINT),
        SubgraphBuilder.place(pool, 0, pool.size()));
  }

  private int bias(int channels) {
    SharedMemory pool = pool((long) channels * Integer.BYTES);
    return graph.constant(
        "bias",
        isFloat ? OperandCode.TENSOR_FLOAT32 : OperandCode.TENSOR_INT32,
        Shape.of(channels),
        quantization(INPUT_SCALE * WEIGHT_SCALE, 0),
        SubgraphBuilder.place(pool, 0, pool.size()));
  }

  private SharedMemory pool(long bytes) {
    SharedMemory pool = SharedMemory.allocate(MemoryKind.ASHMEM, bytes);
    pools.add(pool);
    return pool;
  }

  private void convolution(int size, int kernel, int stride, int from, int to) {
    int out = Math.ceilDiv(size, stride);
    graph.operation(
        OperationCode.CONV_2D,
        List.of(
            input("in", 1, size, size, from),
            weights(to, kernel, kernel, from),
            bias(to),
            graph.int32(SAME),
            graph.int32(stride),
            graph.int32(stride),
            graph.int32(RELU6)),
        List.of(output(OUTPUT_SCALE, 0, 1, out, out, to)));
  }

  private void depthwise(int size, int stride, int channels) {
    int out = Math.ceilDiv(size, stride);
    graph.operation(
        OperationCode.DEPTHWISE_CONV_2D,
        List.of(
            input("in", 1, size, size, channels),
            weights(1, 3, 3, channels),
            bias(channels),
            graph.int32(SAME),
            graph.int32(stride),
            graph.int32(stride),
            graph.int32(1),
            graph.int32(RELU6)),
        List.of(output(OUTPUT_SCALE, 0, 1, out, out, channels)));
  }

  private void fullyConnected(int from, int to) {
    graph.operation(
        OperationCode.FULLY_CONNECTED,
        List.of(input("in", 1, from), weights(to, from), bias(to), graph.int32(0)),
        List.of(output(OUTPUT_SCALE, ZERO_POINT, 1, to)));
  }

  private void pool(
      OperationCode code, int size, int window, int stride, int channels, int padding) {
    int out = padding == SAME ? Math.ceilDiv(size, stride) : (size - window) / stride + 1;
    graph.operation(
        code,
        List.of(
            input("in", 1, size, size, channels),
            graph.int32(padding),
            graph.int32(stride),
            graph.int32(stride),
            graph.int32(window),
            graph.int32(window),
            graph.int32(0)),
        List.of(output(INPUT_SCALE, ZERO_POINT, 1, out, out, channels)));
  }

  private void pair(OperationCode code) {
    graph.operation(
        code,
        List.of(input("a", 1, 56, 56, 256), input("b", 1, 56, 56, 256), graph.int32(0)),
        List.of(output(OUTPUT_SCALE, ZERO_POINT, 1, 56, 56, 256)));
  }

  @Override
  public void close() {
    pools.forEach(SharedMemory::close);
  }
}
