// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.first;

import io.thalamus.benchmarks.network.Network;
import io.thalamus.benchmarks.network.Network.Activation;
import io.thalamus.benchmarks.network.Network.Layer;
import io.thalamus.benchmarks.network.Network.MaxPool;
import io.thalamus.benchmarks.network.Network.Size;
import io.thalamus.benchmarks.network.Network.Softmax;
import io.thalamus.benchmarks.network.Network.Weighted;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.tflite.TfliteReader;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The sample network of the digits with its weights as real numbers, so that it can be written for
 * runtimes of another format. Takes a chain of layers with ReLU, as that network is. Stateless.
 */
final class DigitsNetwork {
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private DigitsNetwork() {}

  static Network read(Path file) throws IOException, ModelFormatException {
    try (SharedMemory memory = SharedMemory.map(file)) {
      Subgraph main = new TfliteReader().read(memory).model().main();
      List<Layer> layers = new ArrayList<>();
      for (Operation operation : main.operations()) {
        layers.add(layer(main, operation, layers.size()));
      }
      return new Network("digits", false, size(main.input(0)), layers);
    }
  }

  private static Layer layer(Subgraph graph, Operation operation, int from) {
    Operand in = operand(graph, operation, 0);
    Size size = size(graph.operands().get(operation.outputs().getFirst()));
    return switch (operation.type()) {
      case OperationCode.CONV_2D ->
          weighted(graph, operation, Weighted.Kind.CONVOLUTION, from, size);
      case OperationCode.DEPTHWISE_CONV_2D ->
          weighted(graph, operation, Weighted.Kind.DEPTHWISE, from, size);
      case OperationCode.FULLY_CONNECTED ->
          weighted(graph, operation, Weighted.Kind.DENSE, from, size);
      case OperationCode.MAX_POOL_2D -> {
        int stride = size(in).height() / size.height();
        yield new MaxPool(from, stride, stride, size);
      }
      case OperationCode.SOFTMAX -> new Softmax(from, size);
      default -> throw new IllegalArgumentException("no layer for " + operation.type());
    };
  }

  private static Operand operand(Subgraph graph, Operation operation, int input) {
    return graph.operands().get(operation.inputs().get(input));
  }

  private static Weighted weighted(
      Subgraph graph, Operation operation, Weighted.Kind kind, int from, Size size) {
    Quantization in = operand(graph, operation, 0).quantization();
    Operand filter = operand(graph, operation, 1);
    MemorySegment stored = bytes(filter);
    float[] weights = new float[(int) filter.shape().elementCount()];
    for (int i = 0; i < weights.length; i++) {
      int value = stored.get(ValueLayout.JAVA_BYTE, i) - filter.quantization().zeroPoint();
      weights[i] = scale(filter, channel(filter, i)) * value;
    }
    MemorySegment sums = bytes(operand(graph, operation, 2));
    float[] bias = new float[size.channels()];
    for (int i = 0; i < bias.length; i++) {
      bias[i] = in.scale() * scale(filter, i) * sums.getAtIndex(INT, i);
    }
    // What cannot be below zero was clamped by ReLU.
    Quantization out = graph.operands().get(operation.outputs().getFirst()).quantization();
    return new Weighted(
        kind,
        from,
        kind == Weighted.Kind.DENSE ? 1 : filter.shape().dimension(1),
        1,
        out.zeroPoint() == Byte.MIN_VALUE ? Activation.RELU : Activation.NONE,
        size,
        weights,
        bias);
  }

  private static MemorySegment bytes(Operand constant) {
    return ((Lifetime.Constant) constant.lifetime()).bytes();
  }

  private static float scale(Operand filter, int channel) {
    return filter.quantization() instanceof Quantization.PerChannel many
        ? many.scales()[channel]
        : filter.quantization().scale();
  }

  /** Channels come first, or last in a depthwise filter. */
  private static int channel(Operand filter, int element) {
    if (!(filter.quantization() instanceof Quantization.PerChannel many)) {
      return 0;
    }
    Shape shape = filter.shape();
    return many.channelDimension() == 0
        ? (int) (element / (shape.elementCount() / shape.dimension(0)))
        : element % shape.dimension(shape.rank() - 1);
  }

  private static Size size(Operand operand) {
    Shape shape = operand.shape();
    return shape.rank() == 2
        ? Size.row(shape.dimension(1))
        : new Size(shape.dimension(1), shape.dimension(2), shape.dimension(3));
  }
}
