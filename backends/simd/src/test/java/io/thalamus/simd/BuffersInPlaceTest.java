// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Arguments in buffers of the device: they are read and written where they are. */
class BuffersInPlaceTest {
  private static final int ELEMENTS = 77;
  private static final int ROUNDS = 20;

  private final SimdDevice device = new SimdDevice("1.0.0", 2);

  @AfterEach
  void close() {
    device.close();
  }

  /**
   * {@code next = state + x; y = next * x}, where the state is reshaped on its way in and out.
   *
   * @param isFloat or of stored bytes
   */
  private static Model model(boolean isFloat) {
    OperandCode type =
        isFloat ? OperandCode.TENSOR_FLOAT32 : OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    Quantization scale = isFloat ? Quantization.NONE : Quantization.of(0.5f, 3);
    Shape flat = Shape.of(1, ELEMENTS);
    Shape shape = Shape.of(7, ELEMENTS / 7);
    SubgraphBuilder graph = new SubgraphBuilder();
    int state = graph.input("state", type, flat, scale);
    int x = graph.input("x", type, shape, scale);
    int reshaped = graph.temporary("reshaped", type, shape, scale);
    int sum = graph.temporary("sum", type, shape, scale);
    int next = graph.output("next", type, flat, scale);
    int y = graph.output("y", type, shape, isFloat ? scale : Quantization.of(2, 0));
    int square = graph.int32Vector(7, ELEMENTS / 7);
    graph.operation(OperationCode.RESHAPE, List.of(state, square), List.of(reshaped));
    graph.operation(OperationCode.ADD, List.of(reshaped, x, graph.int32(0)), List.of(sum));
    graph.operation(OperationCode.MUL, List.of(sum, x, graph.int32(0)), List.of(y));
    int line = graph.int32Vector(1, ELEMENTS);
    graph.operation(OperationCode.RESHAPE, List.of(sum, line), List.of(next));
    return Model.of(graph.build());
  }

  private DeviceBuffer buffer(PreparedModel model, int input, int output) throws Exception {
    return device.allocate(
        new BufferDesc(Shape.NONE),
        List.of(
            new BufferRole(model, Direction.INPUT, input, 1),
            new BufferRole(model, Direction.OUTPUT, output, 0.5f)));
  }

  private static Location whole() {
    return new Location(0, 0, 0, Shape.NONE);
  }

  private static byte[] bytes(Random random, boolean isFloat) {
    byte[] bytes = new byte[ELEMENTS * (isFloat ? Float.BYTES : 1)];
    random.nextBytes(bytes);
    for (int i = 3; isFloat && i < bytes.length; i += Float.BYTES) {
      bytes[i] = (byte) (bytes[i] & 0x80 | 0x3f); // of a magnitude below 2, and finite
    }
    return bytes;
  }

  private static SharedMemory memory(byte[] bytes) throws Exception {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, bytes.length);
    MemorySegment.copy(MemorySegment.ofArray(bytes), 0, memory.segment(), 0, bytes.length);
    return memory;
  }

  /** Sums and products one by one, as they are defined. */
  private static void expect(byte[] state, byte[] x, byte[] next, byte[] y, boolean isFloat) {
    MemorySegment from = MemorySegment.ofArray(state);
    MemorySegment with = MemorySegment.ofArray(x);
    for (int i = 0; i < ELEMENTS; i++) {
      if (isFloat) {
        float right = with.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
        float sum = from.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i) + right;
        MemorySegment.ofArray(next).setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, sum);
        MemorySegment.ofArray(y).setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, sum * right);
      } else {
        int sum = Math.clamp(state[i] - 3 + x[i], Byte.MIN_VALUE, Byte.MAX_VALUE);
        next[i] = (byte) sum;
        // 0.25 of the product of integers, in units of 2; ties cannot be told from the formula.
        y[i] = (byte) Math.clamp(Math.round((sum - 3) * (x[i] - 3) / 8.0), -128, 127);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aStateInBuffersIsNotCopied(boolean isFloat) throws Exception {
    long seed = Long.getLong("thalamus.seed", System.nanoTime());
    Random random = new Random(seed);
    try (PreparedModel model = device.prepare(model(isFloat), PrepareConfig.DEFAULT);
        DeviceBuffer one = buffer(model, 0, 0);
        DeviceBuffer other = buffer(model, 0, 0)) {
      byte[] state = bytes(random, isFloat);
      try (SharedMemory first = memory(state)) {
        one.copyFrom(first, Shape.NONE);
      }
      DeviceBuffer from = one;
      DeviceBuffer to = other;
      for (int round = 0; round < ROUNDS; round++) {
        byte[] x = bytes(random, isFloat);
        byte[] next = new byte[x.length];
        byte[] y = new byte[x.length];
        expect(state, x, next, y, isFloat);
        try (SharedMemory input = memory(x);
            SharedMemory output = memory(new byte[y.length]);
            SharedMemory copy = memory(new byte[y.length])) {
          Completed done =
              assertInstanceOf(
                  Completed.class,
                  model.execute(
                      new Request(
                          List.of(whole(), new Location(1, 0, x.length, Shape.NONE)),
                          List.of(
                              new Location(2, 0, 0, Shape.NONE),
                              new Location(3, 0, y.length, Shape.NONE)),
                          List.of(
                              new MemoryPool.Device(from),
                              new MemoryPool.Shared(input),
                              new MemoryPool.Device(to),
                              new MemoryPool.Shared(output))),
                      ExecutionConfig.DEFAULT));
          assertEquals(x.length, done.bytesIn(), () -> "seed " + seed);
          assertEquals(y.length, done.bytesOut(), () -> "seed " + seed);
          byte[] computed = output.segment().toArray(ValueLayout.JAVA_BYTE);
          if (isFloat) {
            assertArrayEquals(y, computed, () -> "seed " + seed);
          } else {
            for (int i = 0; i < y.length; i++) {
              assertEquals(y[i], computed[i], 1, "seed " + seed);
            }
          }
          to.copyTo(copy);
          assertArrayEquals(
              next, copy.segment().toArray(ValueLayout.JAVA_BYTE), () -> "seed " + seed);
        }
        state = next;
        DeviceBuffer last = from;
        from = to;
        to = last;
      }
    }
  }

  /** An output that is the input by another name has no place of its own to be written to. */
  @Test
  void anInputThatIsAnOutputIsCopied() throws Exception {
    SubgraphBuilder graph = new SubgraphBuilder();
    int in = graph.input("in", OperandCode.TENSOR_FLOAT32, Shape.of(ELEMENTS), Quantization.NONE);
    int out =
        graph.output("out", OperandCode.TENSOR_FLOAT32, Shape.of(1, ELEMENTS), Quantization.NONE);
    int target = graph.int32Vector(1, ELEMENTS);
    graph.operation(OperationCode.RESHAPE, List.of(in, target), List.of(out));
    byte[] value = bytes(new Random(1), true);
    try (PreparedModel model = device.prepare(Model.of(graph.build()), PrepareConfig.DEFAULT);
        DeviceBuffer from =
            device.allocate(
                new BufferDesc(Shape.NONE), List.of(new BufferRole(model, Direction.INPUT, 0, 1)));
        DeviceBuffer to =
            device.allocate(
                new BufferDesc(Shape.NONE),
                List.of(new BufferRole(model, Direction.OUTPUT, 0, 1)));
        SharedMemory first = memory(value);
        SharedMemory copy = memory(new byte[value.length])) {
      from.copyFrom(first, Shape.NONE);
      assertInstanceOf(
          Completed.class,
          model.execute(
              new Request(
                  List.of(whole()),
                  List.of(new Location(1, 0, 0, Shape.NONE)),
                  List.of(new MemoryPool.Device(from), new MemoryPool.Device(to))),
              ExecutionConfig.DEFAULT));
      to.copyTo(copy);
      assertArrayEquals(value, copy.segment().toArray(ValueLayout.JAVA_BYTE));
    }
  }
}
