// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Builds a small model, for tests that run it on devices. Not thread-safe. Constants stand in pools
 * that this owns: close it after the last execution.
 */
public final class TestGraph implements AutoCloseable {
  /** A loop that is slow on a busy machine is no wrong one. */
  private static final ExecutionConfig PATIENT =
      ExecutionConfig.DEFAULT.withLoopTimeout(ExecutionConfig.MAXIMUM_LOOP_TIMEOUT);

  private static final int POOL_BYTES = 1 << 16;

  private final SubgraphBuilder builder = new SubgraphBuilder();
  private final List<SharedMemory> pools = new ArrayList<>();
  private long used;

  @Override
  public void close() {
    pools.forEach(SharedMemory::close);
  }

  /** Returns an operation of 8-bit integers, or that of its name which rounds otherwise. */
  public static OperationType anyRounding(Random random, OperationCode type) {
    return random.nextBoolean() ? type : ThalamusExtension.ROUNDED.get(type);
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
    if (pools.isEmpty() || used + value.length > pools.getLast().size()) {
      pools.add(SharedMemory.allocate(MemoryKind.ASHMEM, Math.max(POOL_BYTES, value.length)));
      used = 0;
    }
    SharedMemory pool = pools.getLast();
    MemorySegment.copy(MemorySegment.ofArray(value), 0, pool.segment(), used, value.length);
    Lifetime.Constant place = SubgraphBuilder.place(pool, used, value.length);
    used += (value.length + 63) / 64 * 64;
    return builder.constant("", type, Shape.of(shape), quantization, place);
  }

  /** A constant of zeros. */
  public int zeros(OperandCode type, Quantization quantization, int... shape) {
    long bytes = Shape.of(shape).elementCount() * type.elementSize();
    return constant(type, quantization, new byte[(int) bytes], shape);
  }

  /** An operand that is left out. */
  public int noValue(OperandCode type) {
    return builder.noValue(type);
  }

  /** An operand of a quantized type that is left out. */
  public int noValue(OperandCode type, Quantization quantization) {
    return builder.operand(new Operand(type, Shape.NONE, quantization, Lifetime.NO_VALUE, ""));
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
  public void operation(OperationType type, List<Integer> in, int out) {
    operation(type, in, List.of(out));
  }

  /** An operation. */
  public void operation(OperationType type, List<Integer> in, List<Integer> out) {
    builder.operation(type, in, out);
  }

  /**
   * RELU or ADD, from an input on to an output, many times, each on the result of the one before.
   */
  public void chain(
      OperationCode type, OperandCode data, Quantization quantization, int count, int... shape) {
    int from = input(data, quantization, shape);
    for (int i = 1; i <= count; i++) {
      int to = i < count ? temporary(data, quantization, shape) : output(data, quantization, shape);
      operation(
          type, type == OperationCode.ADD ? List.of(from, from, int32(0)) : List.of(from), to);
      from = to;
    }
  }

  /** A model that is such a chain of float32. */
  public static Model chain(OperationCode type, int count, int... shape) {
    try (TestGraph graph = new TestGraph()) {
      graph.chain(type, OperandCode.TENSOR_FLOAT32, Quantization.NONE, count, shape);
      return graph.model(); // which has no constants of the graph's
    }
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
    Expect.that(
        device.supportedOperations(model).cardinality() == model.main().operations().size(),
        device.info().name() + " does not claim all operations");
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
      return run(prepared, model.main(), inputs).get(0);
    }
  }

  /** All outputs, as large as the graph or else the execution says. */
  public static List<byte[]> run(PreparedModel prepared, Subgraph graph, byte[]... inputs) {
    try (TestRequest request = TestRequest.of(graph, inputs)) {
      ExecutionResult result = prepared.execute(request.request(), PATIENT);
      Expect.completed("it", result);
      List<byte[]> results = new ArrayList<>(request.results());
      for (int i = 0; i < results.size(); i++) {
        Operand output = graph.output(i);
        if (!output.isSizeKnown() && result instanceof ExecutionResult.Completed completed) {
          long count = completed.outputs().get(i).shape().elementCount();
          int size = Math.toIntExact(count * output.type().elementSize());
          results.set(i, Arrays.copyOf(results.get(i), size));
        }
      }
      return results;
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
