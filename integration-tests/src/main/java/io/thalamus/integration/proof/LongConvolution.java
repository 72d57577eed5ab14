// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Random;

/**
 * A model of one single convolution that keeps a device busy for at least half a second: it can
 * only be put aside inside of its operation. Its tensors stay small: what a program does with large
 * ones between two executions is not the device's, and takes a processor from urgent work too.
 * Immutable; owns the memory of its weights.
 */
final class LongConvolution implements AutoCloseable {
  /** The time that one execution takes at least. */
  static final Duration LEAST = Duration.ofMillis(500);

  /** The time after which the JVM has compiled the kernels, on a loaded machine too. */
  private static final Duration WARM_UP = Duration.ofSeconds(20);

  private static final Duration MEASURED = Duration.ofSeconds(4);

  private static final int SIDE = 56;
  private static final int CHANNELS = 128;

  /** The side of the smallest window, and by how much it grows. */
  private static final int WINDOW = 5;

  private static final int GROWTH = 4;

  /** The seed of the weights. */
  private static final int SEED = 7;

  private static final Quantization IN = Quantization.of(0.5f, 120);
  private static final Quantization FILTER = Quantization.of(0.25f, 131);
  private static final Quantization BIAS = Quantization.of(0.125f, 0);
  private static final Quantization OUT = Quantization.of(2000f, 117);

  private final SharedMemory weights;
  private final Model model;

  private LongConvolution(int side) {
    int filterBytes = CHANNELS * side * side * CHANNELS;
    weights = SharedMemory.allocate(MemoryKind.ASHMEM, filterBytes + Integer.BYTES * CHANNELS);
    byte[] filter = new byte[filterBytes];
    new Random(SEED).nextBytes(filter);
    // The biases stay zeros.
    weights.segment().asSlice(0, filterBytes).copyFrom(MemorySegment.ofArray(filter));
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(1, SIDE, SIDE, CHANNELS);
    int input = graph.input("x", TENSOR_QUANT8_ASYMM, shape, IN);
    Lifetime.Constant values = SubgraphBuilder.place(weights, 0, filterBytes);
    int window =
        graph.constant(
            "filter",
            TENSOR_QUANT8_ASYMM,
            Shape.of(CHANNELS, side, side, CHANNELS),
            FILTER,
            values);
    int bias =
        graph.constant(
            "bias",
            TENSOR_INT32,
            Shape.of(CHANNELS),
            BIAS,
            SubgraphBuilder.place(weights, filterBytes, Integer.BYTES * CHANNELS));
    graph.operation(
        OperationCode.CONV_2D,
        List.of(
            input, window, bias, graph.int32(1), graph.int32(1), graph.int32(1), graph.int32(0)),
        List.of(graph.output("y", TENSOR_QUANT8_ASYMM, shape, OUT)));
    model = Model.of(graph.build());
  }

  Model model() {
    return model;
  }

  /** Returns the smallest one that takes long enough with these options on an idle machine. */
  static LongConvolution of(NeuralNetworks networks, CompilationOptions options, Figures figures)
      throws NeuralNetworksException {
    for (int side = WINDOW; ; side += GROWTH) {
      LongConvolution convolution = new LongConvolution(side);
      Duration taken =
          shortest(networks, options, convolution.model, side == WINDOW ? WARM_UP : MEASURED);
      if (taken.compareTo(LEAST) >= 0) {
        figures.figure("low.convolution.side", side);
        figures.figure("low.convolution.leastMillis", taken.toMillis());
        return convolution;
      }
      convolution.close();
    }
  }

  private static Duration shortest(
      NeuralNetworks networks, CompilationOptions options, Model model, Duration during)
      throws NeuralNetworksException {
    byte[] values = new byte[Math.toIntExact(model.main().input(0).byteSize())];
    byte[] results = new byte[Math.toIntExact(model.main().output(0).byteSize())];
    Duration least = Duration.ofSeconds(Long.MAX_VALUE);
    try (Compilation compilation = networks.compile(model, options)) {
      long begin = System.nanoTime();
      while (System.nanoTime() - begin < during.toNanos()) {
        long start = System.nanoTime();
        compilation
            .createExecution()
            .setInput(0, MemorySegment.ofArray(values))
            .setOutput(0, MemorySegment.ofArray(results))
            .compute()
            .orThrow();
        Duration taken = Duration.ofNanos(System.nanoTime() - start);
        least = taken.compareTo(least) < 0 ? taken : least;
      }
    }
    return least;
  }

  @Override
  public void close() {
    weights.close();
  }
}
