// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.tck.check.TestGraph;
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
 * @param scalarInput whether the activation is an input, too
 */
record DomainModel(
    OperationCode operation,
    OperandCode type,
    Quantization quantization,
    Shape shape,
    int lines,
    boolean scalarInput) {
  private static final int CHANNELS = 8;

  /** The shape that the tests of AOSP convolve. */
  static final Shape SHAPE = Shape.of(1, 32, 32, CHANNELS);

  private static final int SIDE = 3;
  private static final float FILTER_SCALE = 0.125f;
  private static final int SEED = 5;

  /** One line of the usual shape and quantization. */
  static DomainModel of(OperationCode operation, OperandCode type) {
    return new DomainModel(
        operation,
        type,
        isQuantized(type) ? Quantization.of(0.25f, 10) : Quantization.NONE,
        SHAPE,
        1,
        false);
  }

  static boolean isQuantized(OperandCode type) {
    return type == OperandCode.TENSOR_QUANT8_ASYMM
        || type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
  }

  DomainModel with(Shape value) {
    return new DomainModel(operation, type, quantization, value, lines, scalarInput);
  }

  DomainModel with(Quantization value) {
    return new DomainModel(operation, type, value, shape, lines, scalarInput);
  }

  DomainModel withLines(int value) {
    return new DomainModel(operation, type, quantization, shape, value, scalarInput);
  }

  /** Bytes of an input or output of the usual shape. */
  long bytes() {
    return SHAPE.elementCount() * type.elementSize();
  }

  /** An ADD whose activation, a scalar, is an input. */
  DomainModel withScalarInput() {
    return new DomainModel(OperationCode.ADD, type, quantization, shape, lines, true);
  }

  /** The model, to be closed after the last use. */
  TestGraph build() {
    TestGraph graph = new TestGraph();
    for (int i = 0; i < lines; i++) {
      int input = graph.input(type, quantization, shape.toArray());
      int activation =
          scalarInput ? graph.input(OperandCode.INT32, Quantization.NONE) : graph.int32(0);
      int output = graph.output(type, quantization, shape.toArray());
      graph.operation(
          operation,
          operation == OperationCode.ADD
              ? List.of(input, input, activation)
              : convolution(graph, input, activation),
          output);
    }
    return graph;
  }

  /** The inputs of a convolution with filters of any value, and no bias. */
  private List<Integer> convolution(TestGraph graph, int input, int activation) {
    boolean isQuantized = isQuantized(type);
    byte[] filter = new byte[CHANNELS * SIDE * SIDE * CHANNELS * type.elementSize()];
    fill(MemorySegment.ofArray(filter), SEED);
    int one = graph.int32(1);
    return List.of(
        input,
        graph.constant(
            type,
            isQuantized ? Quantization.of(FILTER_SCALE, 3) : Quantization.NONE,
            filter,
            CHANNELS,
            SIDE,
            SIDE,
            CHANNELS),
        isQuantized
            ? graph.zeros(
                OperandCode.TENSOR_INT32,
                Quantization.of(quantization.scale() * FILTER_SCALE, 0),
                CHANNELS)
            : graph.zeros(type, Quantization.NONE, CHANNELS),
        one,
        one,
        one,
        activation);
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
