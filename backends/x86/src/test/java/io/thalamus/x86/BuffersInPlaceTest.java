// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.Quantization.NONE;
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
import io.thalamus.hal.Request.Pointer;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import io.thalamus.tck.check.TestGraph;
import io.thalamus.x86.asm.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Arguments in buffers of the device: they are read and written where they are. */
class BuffersInPlaceTest {
  private static final int ELEMENTS = 77;
  private static final int BYTES = ELEMENTS * Float.BYTES;
  private static final int ROUNDS = 20;

  private X86Device device;

  @BeforeEach
  void open() {
    Levels.assume(Level.AVX2);
    device = new X86Device("1.0.0", 2);
  }

  @AfterEach
  void close() {
    if (device != null) {
      device.close();
    }
  }

  private DeviceBuffer buffer(PreparedModel model, BufferRole... roles) throws Exception {
    return device.allocate(new BufferDesc(Shape.NONE), List.of(roles));
  }

  private static Location buffer(int pool) {
    return new Location(pool, 0, 0, Shape.NONE);
  }

  private static SharedMemory memory(float... values) throws Exception {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, values.length * Float.BYTES);
    MemorySegment.copy(
        MemorySegment.ofArray(values), 0, memory.segment(), 0, values.length * Float.BYTES);
    return memory;
  }

  private static float[] floats(SharedMemory memory) {
    return memory.segment().toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
  }

  private Completed run(
      PreparedModel model, DeviceBuffer from, SharedMemory x, DeviceBuffer to, SharedMemory y)
      throws Exception {
    return assertInstanceOf(
        Completed.class,
        model.execute(
            new Request(
                List.of(buffer(0), new Location(1, 0, BYTES, Shape.NONE)),
                List.of(buffer(2), new Location(3, 0, BYTES, Shape.NONE)),
                List.of(
                    new MemoryPool.Device(from),
                    new MemoryPool.Shared(x),
                    new MemoryPool.Device(to),
                    new MemoryPool.Shared(y))),
            ExecutionConfig.DEFAULT));
  }

  /** {@code next = state + x; y = next * x}: the next state is read again after it was written. */
  @Test
  void aStateInBuffersIsNotCopied() throws Exception {
    try (TestGraph graph = new TestGraph()) {
      int state = graph.input(TENSOR_FLOAT32, NONE, 1, ELEMENTS);
      int x = graph.input(TENSOR_FLOAT32, NONE, 7, 11);
      int reshaped = graph.temporary(TENSOR_FLOAT32, NONE, 7, 11);
      int next = graph.output(TENSOR_FLOAT32, NONE, 7, 11);
      int y = graph.output(TENSOR_FLOAT32, NONE, 7, 11);
      graph.operation(OperationCode.RESHAPE, List.of(state, graph.int32Vector(7, 11)), reshaped);
      graph.operation(OperationCode.ADD, List.of(reshaped, x, graph.int32(0)), next);
      graph.operation(OperationCode.MUL, List.of(next, x, graph.int32(0)), y);
      try (PreparedModel model = device.prepare(graph.model(), PrepareConfig.DEFAULT);
          DeviceBuffer one = buffer(model, new BufferRole(model, Direction.INPUT, 0, 1));
          DeviceBuffer two = buffer(model, new BufferRole(model, Direction.OUTPUT, 0, 1));
          SharedMemory given = memory(new float[ELEMENTS]);
          SharedMemory product = memory(new float[ELEMENTS]);
          SharedMemory copy = memory(new float[ELEMENTS])) {
        float[] states = new float[ELEMENTS];
        for (int round = 0; round < ROUNDS; round++) {
          float[] products = new float[ELEMENTS];
          for (int i = 0; i < ELEMENTS; i++) {
            float number = (i * 31 + round * 7) % 13 - 6;
            given.segment().setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, number);
            copy.segment().setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, states[i]);
            states[i] += number;
            products[i] = states[i] * number;
          }
          one.copyFrom(copy, Shape.NONE);
          Completed done = run(model, one, given, two, product);
          assertEquals(BYTES, done.bytesIn());
          assertEquals(BYTES, done.bytesOut());
          assertArrayEquals(products, floats(product));
          two.copyTo(copy);
          assertArrayEquals(states, floats(copy));
        }
        // The same frame without buffers stands on its own memory again.
        try (SharedMemory state0 = memory(new float[ELEMENTS])) {
          Location whole = new Location(0, 0, BYTES, Shape.NONE);
          Completed done =
              assertInstanceOf(
                  Completed.class,
                  model.execute(
                      new Request(
                          List.of(whole, new Location(1, 0, BYTES, Shape.NONE)),
                          List.of(
                              new Location(2, 0, BYTES, Shape.NONE),
                              new Location(3, 0, BYTES, Shape.NONE)),
                          List.of(
                              new MemoryPool.Shared(state0),
                              new MemoryPool.Shared(given),
                              new MemoryPool.Shared(copy),
                              new MemoryPool.Shared(product))),
                      ExecutionConfig.DEFAULT));
          assertEquals(2 * BYTES, done.bytesIn());
          assertEquals(2 * BYTES, done.bytesOut());
          assertArrayEquals(floats(given), floats(copy));
        }
      }
    }
  }

  /** One pass over four arguments: {@code y = (a + b) * c - d}. */
  @Test
  void noArgumentOfAPassIsCopied() throws Exception {
    try (TestGraph graph = new TestGraph()) {
      List<Integer> in = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        in.add(graph.input(TENSOR_FLOAT32, NONE, ELEMENTS));
      }
      int sum = graph.temporary(TENSOR_FLOAT32, NONE, ELEMENTS);
      int product = graph.temporary(TENSOR_FLOAT32, NONE, ELEMENTS);
      int out = graph.output(TENSOR_FLOAT32, NONE, ELEMENTS);
      graph.operation(OperationCode.ADD, List.of(in.get(0), in.get(1), graph.int32(0)), sum);
      graph.operation(OperationCode.MUL, List.of(sum, in.get(2), graph.int32(0)), product);
      graph.operation(OperationCode.SUB, List.of(product, in.get(3), graph.int32(0)), out);
      List<DeviceBuffer> buffers = new ArrayList<>();
      try (PreparedModel model = device.prepare(graph.model(), PrepareConfig.DEFAULT);
          SharedMemory found = memory(new float[ELEMENTS])) {
        for (int i = 0; i < 4; i++) {
          float[] values = new float[ELEMENTS];
          for (int k = 0; k < ELEMENTS; k++) {
            values[k] = (k + 1) * (i + 1) % 11;
          }
          try (SharedMemory memory = memory(values)) {
            buffers.add(buffer(model, new BufferRole(model, Direction.INPUT, i, 1)));
            buffers.getLast().copyFrom(memory, Shape.NONE);
          }
        }
        buffers.add(buffer(model, new BufferRole(model, Direction.OUTPUT, 0, 1)));
        Completed done =
            assertInstanceOf(
                Completed.class,
                model.execute(
                    new Request(
                        List.of(buffer(0), buffer(1), buffer(2), buffer(3)),
                        List.of(buffer(4)),
                        buffers.stream().<MemoryPool>map(MemoryPool.Device::new).toList()),
                    ExecutionConfig.DEFAULT));
        assertEquals(0, done.bytesIn() + done.bytesOut());
        buffers.getLast().copyTo(found);
        float[] results = floats(found);
        for (int k = 0; k < ELEMENTS; k++) {
          int wanted = ((k + 1) % 11 + (k + 1) * 2 % 11) * ((k + 1) * 3 % 11) - (k + 1) * 4 % 11;
          assertEquals(wanted, results[k], "element " + k);
        }
      } finally {
        buffers.forEach(DeviceBuffer::close);
      }
    }
  }

  /** An output that is the input by another name has no place of its own to be written to. */
  @Test
  void anInputThatIsAnOutputIsCopied() throws Exception {
    try (TestGraph graph = new TestGraph()) {
      int in = graph.input(TENSOR_FLOAT32, NONE, ELEMENTS);
      int out = graph.output(TENSOR_FLOAT32, NONE, 1, ELEMENTS);
      graph.operation(OperationCode.RESHAPE, List.of(in, graph.int32Vector(1, ELEMENTS)), out);
      float[] value = new float[ELEMENTS];
      for (int i = 0; i < ELEMENTS; i++) {
        value[i] = i * 0.5f;
      }
      try (PreparedModel model = device.prepare(graph.model(), PrepareConfig.DEFAULT);
          DeviceBuffer from = buffer(model, new BufferRole(model, Direction.INPUT, 0, 1));
          DeviceBuffer to = buffer(model, new BufferRole(model, Direction.OUTPUT, 0, 1));
          SharedMemory first = memory(value);
          SharedMemory copy = memory(new float[ELEMENTS])) {
        from.copyFrom(first, Shape.NONE);
        assertInstanceOf(
            Completed.class,
            model.execute(
                new Request(
                    List.of(buffer(0)),
                    List.of(buffer(1)),
                    List.of(new MemoryPool.Device(from), new MemoryPool.Device(to))),
                ExecutionConfig.DEFAULT));
        to.copyTo(copy);
        assertArrayEquals(value, floats(copy));
      }
    }
  }

  private static void square(PreparedModel model, MemorySegment in, MemorySegment out, int copied) {
    for (int i = 0; i < ELEMENTS; i++) {
      in.setAtIndex(ValueLayout.JAVA_FLOAT, i, i);
    }
    Request request =
        new Request(
            List.of(new Pointer(in, Shape.NONE)), List.of(new Pointer(out, Shape.NONE)), List.of());
    for (int round = 0; round < 2; round++) {
      Completed done =
          assertInstanceOf(Completed.class, model.execute(request, ExecutionConfig.DEFAULT));
      assertEquals(copied, done.bytesIn());
      assertEquals(copied, done.bytesOut());
      for (int i = 0; i < ELEMENTS; i++) {
        assertEquals(i * i, out.getAtIndex(ValueLayout.JAVA_FLOAT, i));
      }
      out.fill((byte) 0);
    }
  }

  @Test
  void memoryThatNobodyCanCloseIsNotCopied() throws Exception {
    try (TestGraph graph = new TestGraph();
        Arena shared = Arena.ofShared()) {
      int x = graph.input(TENSOR_FLOAT32, NONE, ELEMENTS);
      int y = graph.output(TENSOR_FLOAT32, NONE, ELEMENTS);
      graph.operation(OperationCode.MUL, List.of(x, x, graph.int32(0)), y);
      try (PreparedModel model = device.prepare(graph.model(), PrepareConfig.DEFAULT)) {
        MemorySegment steady = Arena.ofAuto().allocate(4 * BYTES, 64);
        MemorySegment first = steady.asSlice(0, BYTES);
        square(model, first, steady.asSlice(512, BYTES), 0);
        square(model, shared.allocate(BYTES, 64), shared.allocate(BYTES, 64), BYTES);
        square(model, steady.asSlice(8, BYTES), steady.asSlice(520, BYTES), BYTES);
        square(model, first, steady.asSlice(512, BYTES), 0);
      }
    }
  }
}
