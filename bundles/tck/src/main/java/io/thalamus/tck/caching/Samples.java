// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;

/**
 * The models of one operand type. Not thread-safe. Owns the memory of their constants: closed when
 * no prepared model is left.
 */
final class Samples implements AutoCloseable {
  /** The types that are tried. */
  static final List<OperandCode> TYPES =
      List.of(
          OperandCode.TENSOR_FLOAT32,
          OperandCode.TENSOR_FLOAT16,
          OperandCode.TENSOR_QUANT8_ASYMM,
          OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);

  private static final int[] LAYERS = {24, 40, 32, 10};
  private static final int CHAIN = 100;
  private static final int ALIGNMENT = 64;

  private final OperandCode type;
  private final SharedMemory pool = SharedMemory.allocate(MemoryKind.ASHMEM, 1 << 16);
  private final Random random = new Random(1);
  private long used;

  Samples(OperandCode type) {
    this.type = type;
  }

  @Override
  public void close() {
    pool.close();
  }

  private boolean isQuantized() {
    return type.elementSize() == 1;
  }

  private Quantization quantization(float scale) {
    return isQuantized() ? new Quantization.PerTensor(scale, 0) : Quantization.NONE;
  }

  /** Three layers of weights and biases, which stand in for a network. */
  Sample layers() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int value = graph.input("", type, Shape.of(2, LAYERS[0]), quantization(0.5f));
    for (int i = 1; i < LAYERS.length; i++) {
      Quantization result = quantization(0.5f);
      Shape shape = Shape.of(2, LAYERS[i]);
      int weights =
          constant(
              graph,
              type,
              quantization(0.25f),
              values(LAYERS[i] * LAYERS[i - 1]),
              Shape.of(LAYERS[i], LAYERS[i - 1]));
      int bias =
          isQuantized()
              ? constant(
                  graph,
                  OperandCode.TENSOR_INT32,
                  new Quantization.PerTensor(0.125f, 0),
                  biases(LAYERS[i]),
                  Shape.of(LAYERS[i]))
              : constant(graph, type, Quantization.NONE, values(LAYERS[i]), Shape.of(LAYERS[i]));
      int next =
          i + 1 == LAYERS.length
              ? graph.output("", type, shape, result)
              : graph.temporary("", type, shape, result);
      graph.operation(
          OperationCode.FULLY_CONNECTED,
          List.of(value, weights, bias, graph.int32(0)),
          List.of(next));
      value = next;
    }
    return new Sample("layers " + type, Model.of(graph.build()), values(2 * LAYERS[0]));
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
    SubgraphBuilder graph = new SubgraphBuilder();
    int value = graph.input("", type, Shape.of(1), quantization(1));
    int second = constant(graph, type, quantization(scale), number(stored), Shape.of(1));
    int activation = graph.int32(0);
    for (int i = 1; i <= CHAIN; i++) {
      int next =
          i == CHAIN
              ? graph.output("", type, Shape.of(1), quantization(1))
              : graph.temporary("", type, Shape.of(1), quantization(1));
      graph.operation(operation, List.of(value, second, activation), List.of(next));
      value = next;
    }
    return new Sample(operation + " chain " + type, Model.of(graph.build()), number(1));
  }

  /** A number as one element. */
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
    ByteBuffer bytes = ByteBuffer.allocate(Integer.BYTES * count).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < count; i++) {
      bytes.putInt(random.nextInt(-1000, 1000));
    }
    return bytes.array();
  }

  private int constant(
      SubgraphBuilder graph,
      OperandCode constantType,
      Quantization quantization,
      byte[] value,
      Shape shape) {
    MemorySegment.copy(MemorySegment.ofArray(value), 0, pool.segment(), used, value.length);
    int operand =
        graph.constant(
            "", constantType, shape, quantization, SubgraphBuilder.place(pool, used, value.length));
    used += (value.length + ALIGNMENT - 1L) / ALIGNMENT * ALIGNMENT;
    return operand;
  }
}
