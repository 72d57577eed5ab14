// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.operations.ElementTypes;
import io.thalamus.tck.check.TestGraph;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * The models of one operand type. Not thread-safe. Owns the memory of their constants: closed when
 * no prepared model is left.
 */
final class Samples implements AutoCloseable {
  /** The types that are tried. */
  static final List<OperandCode> TYPES = List.of(ElementTypes.reals());

  private static final int[] LAYERS = {24, 40, 32, 10};
  private static final int CHAIN = 100;

  private final OperandCode type;
  private final List<TestGraph> graphs = new ArrayList<>();
  private final Random random = new Random(1);

  Samples(OperandCode type) {
    this.type = type;
  }

  @Override
  public void close() {
    graphs.forEach(TestGraph::close);
  }

  private TestGraph graph() {
    TestGraph graph = new TestGraph();
    graphs.add(graph);
    return graph;
  }

  private boolean isQuantized() {
    return type.elementSize() == 1;
  }

  private Quantization quantization(float scale) {
    return isQuantized() ? Quantization.of(scale, 0) : Quantization.NONE;
  }

  /** Three layers of weights and biases, which stand in for a network. */
  Sample layers() {
    TestGraph graph = graph();
    int value = graph.input(type, quantization(0.5f), 2, LAYERS[0]);
    for (int i = 1; i < LAYERS.length; i++) {
      int units = LAYERS[i];
      byte[] filter = values(units * LAYERS[i - 1]);
      int weights = graph.constant(type, quantization(0.25f), filter, units, LAYERS[i - 1]);
      int bias =
          isQuantized()
              ? graph.constant(
                  OperandCode.TENSOR_INT32, Quantization.of(0.125f, 0), biases(units), units)
              : graph.constant(type, Quantization.NONE, values(units), units);
      int next =
          i + 1 == LAYERS.length
              ? graph.output(type, quantization(0.5f), 2, units)
              : graph.temporary(type, quantization(0.5f), 2, units);
      graph.operation(
          OperationCode.FULLY_CONNECTED, List.of(value, weights, bias, graph.int32(0)), next);
      value = next;
    }
    return new Sample("layers " + type, graph.model(), values(2 * LAYERS[0]));
  }

  /** AOSP's chain of 100 ADD, which gives 101 for 1. */
  Sample additions() {
    return chain(OperationCode.ADD, 1, 1);
  }

  /** AOSP's chain of 100 MUL, which gives 1 for 1. */
  Sample multiplications() {
    return chain(OperationCode.MUL, 0.5f, isQuantized() ? 2 : 1);
  }

  private Sample chain(OperationCode operation, float scale, int stored) {
    TestGraph graph = graph();
    int value = graph.input(type, quantization(1), 1);
    int second = graph.constant(type, quantization(scale), number(stored), 1);
    int activation = graph.int32(0);
    for (int i = 1; i <= CHAIN; i++) {
      int next =
          i == CHAIN
              ? graph.output(type, quantization(1), 1)
              : graph.temporary(type, quantization(1), 1);
      graph.operation(operation, List.of(value, second, activation), next);
      value = next;
    }
    return new Sample(operation + " chain " + type, graph.model(), number(1));
  }

  byte[] number(int value) {
    ByteBuffer bytes = ByteBuffer.allocate(type.elementSize()).order(ByteOrder.LITTLE_ENDIAN);
    put(bytes, value);
    return bytes.array();
  }

  private void put(ByteBuffer bytes, float value) {
    switch (type.elementSize()) {
      case Float.BYTES -> bytes.putFloat(value);
      case Short.BYTES -> bytes.putShort(Float.floatToFloat16(value));
      default -> bytes.put((byte) value);
    }
  }

  private byte[] values(int count) {
    ByteBuffer bytes =
        ByteBuffer.allocate(count * type.elementSize()).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < count; i++) {
      put(bytes, isQuantized() ? random.nextInt(256) : random.nextInt(-64, 65) / 64f);
    }
    return bytes.array();
  }

  private byte[] biases(int count) {
    return TestGraph.bytes(random.ints(count, -1000, 1000).toArray());
  }
}
