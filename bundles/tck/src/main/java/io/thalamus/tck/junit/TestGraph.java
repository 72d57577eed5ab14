// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.junit;

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

/**
 * Builds a small model, for tests that run it on devices. Not thread-safe. Constants stand in one
 * pool of 16 MiB, owned by this: close it after the last execution.
 */
public final class TestGraph implements AutoCloseable {
  private final SubgraphBuilder builder = new SubgraphBuilder();
  private final SharedMemory pool = SharedMemory.allocate(MemoryKind.ASHMEM, 1 << 24);
  private long used;

  @Override
  public void close() {
    pool.close();
  }

  /** An input of the model; the result is its operand index, here and below. */
  public int input(OperandCode type, Quantization quantization, int... shape) {
    return builder.input("", type, Shape.of(shape), quantization);
  }

  /** An output of the model. */
  public int output(OperandCode type, Quantization quantization, int... shape) {
    return builder.output("", type, Shape.of(shape), quantization);
  }

  /** A value between operations. */
  public int temporary(OperandCode type, Quantization quantization, int... shape) {
    return builder.temporary("", type, Shape.of(shape), quantization);
  }

  /** A constant of these bytes, little-endian. */
  public int constant(OperandCode type, Quantization quantization, byte[] value, int... shape) {
    MemorySegment.copy(MemorySegment.ofArray(value), 0, pool.segment(), used, value.length);
    Lifetime.Constant place = SubgraphBuilder.place(pool, used, value.length);
    used += (value.length + 63) / 64 * 64;
    return builder.constant("", type, Shape.of(shape), quantization, place);
  }

  /** A scalar constant. */
  public int int32(int value) {
    return builder.int32(value);
  }

  /** A scalar constant. */
  public int float32(float value) {
    return builder.float32(value);
  }

  /** A scalar constant. */
  public int bool(boolean value) {
    return builder.bool(value);
  }

  /** A constant of one dimension. */
  public int int32Vector(int... values) {
    return builder.int32Vector(values);
  }

  /** An operation with one output. */
  public void operation(OperationCode type, List<Integer> in, int out) {
    builder.operation(type, in, List.of(out));
  }

  /** The model as built so far. */
  public Model model() {
    return Model.of(builder.build());
  }

  /** As a request holds them. */
  public static byte[] bytes(float... values) {
    ByteBuffer buffer = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      buffer.putFloat(value);
    }
    return buffer.array();
  }

  /** As a request holds them. */
  public static byte[] bytes(int... values) {
    ByteBuffer buffer = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (int value : values) {
      buffer.putInt(value);
    }
    return buffer.array();
  }

  /** The reverse of {@link #bytes(float...)}. */
  public static float[] floats(byte[] values) {
    float[] floats = new float[values.length / 4];
    ByteBuffer.wrap(values).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(floats);
    return floats;
  }

  /** The first output of a fresh prepared model, of which the device must claim all operations. */
  public static byte[] run(Device device, Model model, byte[]... inputs) throws DeviceException {
    assertEquals(
        model.main().operations().size(),
        device.supportedOperations(model).cardinality(),
        device.info().name() + " does not claim all operations");
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
      return run(prepared, model.main(), inputs).get(0);
    }
  }

  /** All outputs, which must be of known size. */
  public static List<byte[]> run(PreparedModel prepared, Subgraph graph, byte[]... inputs) {
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

  /** Fails where two results differ, and says where first. */
  public static void assertSame(byte[] expected, byte[] actual, String message) {
    int at = Arrays.mismatch(expected, actual);
    if (at >= 0) {
      throw new AssertionError(
          message + ": element " + at + " is " + actual[at] + ", not " + expected[at]);
    }
  }
}
