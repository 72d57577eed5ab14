// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Builds a small model and runs it on devices. Constants stand in one pool, owned by this. */
final class TestGraph implements AutoCloseable {
  private final SubgraphBuilder builder = new SubgraphBuilder();
  private final SharedMemory pool = SharedMemory.allocate(MemoryKind.ASHMEM, 1 << 24);
  private long used;

  @Override
  public void close() {
    pool.close();
  }

  int input(OperandCode type, Quantization quantization, int... shape) {
    return builder.input("", type, Shape.of(shape), quantization);
  }

  int output(OperandCode type, Quantization quantization, int... shape) {
    return builder.output("", type, Shape.of(shape), quantization);
  }

  int temporary(OperandCode type, Quantization quantization, int... shape) {
    return builder.temporary("", type, Shape.of(shape), quantization);
  }

  int constant(OperandCode type, Quantization quantization, byte[] value, int... shape) {
    MemorySegment.copy(MemorySegment.ofArray(value), 0, pool.segment(), used, value.length);
    Lifetime.Constant place = SubgraphBuilder.place(pool, used, value.length);
    used += (value.length + 63) / 64 * 64;
    return builder.constant("", type, Shape.of(shape), quantization, place);
  }

  int int32(int value) {
    return builder.int32(value);
  }

  int float32(float value) {
    return builder.float32(value);
  }

  int bool(boolean value) {
    return builder.bool(value);
  }

  int int32Vector(int... values) {
    return builder.int32Vector(values);
  }

  void operation(OperationCode type, List<Integer> in, int out) {
    builder.operation(type, in, List.of(out));
  }

  Model model() {
    return Model.of(builder.build());
  }

  static byte[] bytes(float... values) {
    ByteBuffer buffer = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      buffer.putFloat(value);
    }
    return buffer.array();
  }

  static byte[] bytes(int... values) {
    ByteBuffer buffer = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (int value : values) {
      buffer.putInt(value);
    }
    return buffer.array();
  }

  static float[] floats(byte[] values) {
    float[] floats = new float[values.length / 4];
    ByteBuffer.wrap(values).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(floats);
    return floats;
  }

  /** The first output of a fresh prepared model. */
  static byte[] run(Device device, Model model, byte[]... inputs) throws DeviceException {
    assertEquals(
        model.main().operations().size(),
        device.supportedOperations(model).cardinality(),
        device.info().name() + " does not claim all operations");
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
      return run(prepared, model.main(), inputs).get(0);
    }
  }

  /** All outputs. */
  static List<byte[]> run(PreparedModel prepared, Subgraph graph, byte[]... inputs) {
    List<MemoryPool> pools = new ArrayList<>();
    List<SharedMemory> memories = new ArrayList<>();
    try {
      List<Argument> in = new ArrayList<>();
      for (byte[] input : inputs) {
        SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, input.length);
        memories.add(memory);
        MemorySegment.copy(MemorySegment.ofArray(input), 0, memory.segment(), 0, input.length);
        in.add(new Location(pools.size(), 0, input.length, Shape.NONE));
        pools.add(new MemoryPool.Shared(memory));
      }
      List<Argument> out = new ArrayList<>();
      List<SharedMemory> results = new ArrayList<>();
      for (int i = 0; i < graph.outputIndexes().size(); i++) {
        int size = (int) graph.output(i).byteSize();
        SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, size);
        memories.add(memory);
        results.add(memory);
        out.add(new Location(pools.size(), 0, size, Shape.NONE));
        pools.add(new MemoryPool.Shared(memory));
      }
      ExecutionResult result =
          prepared.execute(new Request(in, out, pools), ExecutionConfig.DEFAULT);
      assertInstanceOf(ExecutionResult.Completed.class, result, result.toString());
      List<byte[]> values = new ArrayList<>();
      for (int i = 0; i < results.size(); i++) {
        byte[] value = new byte[(int) graph.output(i).byteSize()];
        MemorySegment.copy(
            results.get(i).segment(), 0, MemorySegment.ofArray(value), 0, value.length);
        values.add(value);
      }
      return values;
    } finally {
      memories.forEach(SharedMemory::close);
    }
  }

  /** Where two results differ first, for messages. */
  static void assertSame(byte[] expected, byte[] actual, String message) {
    int at = Arrays.mismatch(expected, actual);
    if (at >= 0) {
      throw new AssertionError(
          message + ": element " + at + " is " + actual[at] + ", not " + expected[at]);
    }
  }
}
