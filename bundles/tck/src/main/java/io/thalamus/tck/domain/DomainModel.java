// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Elements;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;

/**
 * The models of AOSP's tests of memory domains: a CONV_2D that keeps the shape, or an ADD of a
 * value to itself, once or twice side by side. Immutable.
 *
 * @param operation CONV_2D or ADD
 * @param type of inputs and outputs
 * @param quantization of inputs and outputs
 * @param shape of inputs and outputs, which may be open
 * @param lines how many inputs, each with an output of its own
 */
record DomainModel(
    OperationCode operation, OperandCode type, Quantization quantization, Shape shape, int lines) {
  private static final int CHANNELS = 8;

  /** The shape that the tests of AOSP convolve. */
  static final Shape SHAPE = Shape.of(1, 32, 32, CHANNELS);

  private static final int SIDE = 3;
  private static final float FILTER_SCALE = 0.125f;
  private static final int WEIGHTS = 1 << 12;
  private static final int SEED = 5;

  /** One line of the usual shape and quantization. */
  static DomainModel of(OperationCode operation, OperandCode type) {
    return new DomainModel(
        operation,
        type,
        isQuantized(type) ? Quantization.of(0.25f, 10) : Quantization.NONE,
        SHAPE,
        1);
  }

  static boolean isQuantized(OperandCode type) {
    return type == OperandCode.TENSOR_QUANT8_ASYMM
        || type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
  }

  DomainModel with(Shape value) {
    return new DomainModel(operation, type, quantization, value, lines);
  }

  DomainModel with(Quantization value) {
    return new DomainModel(operation, type, value, shape, lines);
  }

  DomainModel withLines(int value) {
    return new DomainModel(operation, type, quantization, shape, value);
  }

  /** Bytes of an input or output of the usual shape. */
  long bytes() {
    return SHAPE.elementCount() * type.elementSize();
  }

  /**
   * The model.
   *
   * @param weights from {@link #newWeights}, which must outlive it
   */
  Model build(SharedMemory weights) {
    SubgraphBuilder graph = new SubgraphBuilder();
    for (int i = 0; i < lines; i++) {
      int input = graph.input("", type, shape, quantization);
      int output = graph.output("", type, shape, quantization);
      if (operation == OperationCode.ADD) {
        graph.operation(operation, List.of(input, input, graph.int32(0)), List.of(output));
      } else {
        convolve(graph, input, output, weights);
      }
    }
    return Model.of(graph.build());
  }

  /** An ADD whose activation, a scalar, is an input. */
  Model withScalarInput() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", type, shape, quantization);
    int activation = graph.input("", OperandCode.INT32, Shape.NONE, Quantization.NONE);
    int output = graph.output("", type, shape, quantization);
    graph.operation(OperationCode.ADD, List.of(input, input, activation), List.of(output));
    return Model.of(graph.build());
  }

  private void convolve(SubgraphBuilder graph, int input, int output, SharedMemory weights) {
    boolean isQuantized = isQuantized(type);
    Shape filter = Shape.of(CHANNELS, SIDE, SIDE, CHANNELS);
    int same = graph.int32(1);
    int one = graph.int32(1);
    int none = graph.int32(0);
    int window =
        graph.constant(
            "",
            type,
            filter,
            isQuantized ? Quantization.of(FILTER_SCALE, 3) : Quantization.NONE,
            SubgraphBuilder.place(weights, 0, filter.elementCount() * type.elementSize()));
    OperandCode biasType = isQuantized ? OperandCode.TENSOR_INT32 : type;
    int bias =
        graph.constant(
            "",
            biasType,
            Shape.of(CHANNELS),
            isQuantized
                ? Quantization.of(quantization.scale() * FILTER_SCALE, 0)
                : Quantization.NONE,
            SubgraphBuilder.place(weights, WEIGHTS, (long) CHANNELS * biasType.elementSize()));
    graph.operation(operation, List.of(input, window, bias, same, one, one, none), List.of(output));
  }

  /** Filters of any value, and no bias. */
  SharedMemory newWeights() {
    SharedMemory weights = SharedMemory.allocate(MemoryKind.ASHMEM, 2 * WEIGHTS);
    fill(weights.segment().asSlice(0, WEIGHTS), SEED);
    return weights;
  }

  /** Writes values of the type that follow from the seed. */
  void fill(MemorySegment values, int seed) {
    Random random = new Random(seed);
    Elements elements = Elements.of(type);
    long count = values.byteSize() / type.elementSize();
    for (long i = 0; i < count; i++) {
      float value = 2 * random.nextFloat() - 1;
      elements.setFloat(values, i, elements.isFloat() ? value : value * 16);
    }
  }
}
