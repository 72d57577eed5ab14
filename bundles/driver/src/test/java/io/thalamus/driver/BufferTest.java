// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.hal.SyncFence;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The promises of buffers beyond those that the conformance kit asks of every device. */
class BufferTest {
  private static final ExecutionConfig USUAL = ExecutionConfig.DEFAULT;
  private static final BufferDesc DESC = new BufferDesc(Shape.NONE);

  private Runnable duringFloor = () -> {};
  private final TestDevice device = TestDevice.withBuffers(() -> duringFloor.run());
  private PreparedModel floor;

  @BeforeEach
  void prepare() throws DeviceException {
    floor = device.prepare(model(Shape.of(2)), PrepareConfig.DEFAULT);
  }

  @AfterEach
  void close() {
    floor.close();
    device.tracker().close();
  }

  private static Model model(Shape shape) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int output = graph.output("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(OperationCode.FLOOR, List.of(input), List.of(output));
    return Model.of(graph.build());
  }

  private static BufferRole in(PreparedModel model) {
    return new BufferRole(model, Direction.INPUT, 0, 1);
  }

  private static BufferRole out(PreparedModel model) {
    return new BufferRole(model, Direction.OUTPUT, 0, 1);
  }

  /** A buffer for either side of FLOOR. */
  private DeviceBuffer buffer() throws DeviceException {
    return device.allocate(DESC, List.of(in(floor), out(floor)));
  }

  private DeviceBuffer buffer(float... values) throws DeviceException {
    DeviceBuffer buffer = buffer();
    write(buffer, values);
    return buffer;
  }

  private static SharedMemory memory(float... values) {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 4L * values.length);
    for (int i = 0; i < values.length; i++) {
      memory.segment().setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, values[i]);
    }
    return memory;
  }

  private static void write(DeviceBuffer buffer, float... values) throws DeviceException {
    try (SharedMemory memory = memory(values)) {
      buffer.copyFrom(memory, Shape.NONE);
    }
  }

  private static float[] read(DeviceBuffer buffer) throws DeviceException {
    try (SharedMemory memory = memory(0, 0)) {
      buffer.copyTo(memory);
      return memory.segment().toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
    }
  }

  private static Request request(DeviceBuffer input, DeviceBuffer output) {
    return new Request(
        List.of(new Location(0, 0, 0, Shape.NONE)),
        List.of(new Location(1, 0, 0, Shape.NONE)),
        List.of(new MemoryPool.Device(input), new MemoryPool.Device(output)));
  }

  private static void assertRefused(ErrorStatus status, DeviceException refused) {
    assertEquals(status, refused.status(), refused.getMessage());
  }

  private static void assertHoldsNothing(DeviceBuffer buffer) {
    assertRefused(
        ErrorStatus.GENERAL_FAILURE, assertThrows(DeviceException.class, () -> read(buffer)));
  }

  private static void assertFailed(ErrorStatus status, ExecutionResult result) {
    assertEquals(status, assertInstanceOf(Failed.class, result, result.toString()).status());
  }

  /** Two devices that number their buffers would give the same tokens. */
  @Test
  void tokensArePositiveAndUniqueAndCannotBeGuessed() throws DeviceException {
    Set<Integer> tokens = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      int token = buffer().token();
      assertTrue(token > 0, () -> "token " + token);
      assertTrue(tokens.add(token), () -> "token " + token + " twice");
    }
    TestDevice other = TestDevice.withBuffers(() -> {});
    try (PreparedModel model = other.prepare(model(Shape.of(2)), PrepareConfig.DEFAULT)) {
      int common = 0;
      for (int i = 0; i < 100; i++) {
        common += tokens.contains(other.allocate(DESC, List.of(in(model))).token()) ? 1 : 0;
      }
      // One in common is a chance of one in 200,000; with three the generator is none.
      assertTrue(common < 3, common + " of 100 tokens of another device are the same");
    } finally {
      other.tracker().close();
    }
  }

  @Test
  void resultsStayOnTheDevice() throws DeviceException {
    DeviceBuffer first = buffer(1.5f, -0.5f);
    DeviceBuffer second = buffer();
    assertInstanceOf(Completed.class, floor.execute(request(first, second), USUAL));
    assertArrayEquals(new float[] {1, -1}, read(second));
    write(first, 7.5f, 8.5f);
    assertInstanceOf(Completed.class, floor.execute(request(second, first), USUAL));
    assertArrayEquals(new float[] {1, -1}, read(first));
  }

  @Test
  void aFailedExecutionLeavesNothing() throws DeviceException {
    DeviceBuffer input = buffer(1.5f, -0.5f);
    DeviceBuffer output = buffer(3, 4);
    assertFailed(
        ErrorStatus.GENERAL_FAILURE,
        floor.execute(request(input, output), USUAL.with(() -> Signal.CANCELLED)));
    assertHoldsNothing(output);
    write(output, 3, 4);
    assertFailed(
        ErrorStatus.MISSED_DEADLINE_PERSISTENT,
        floor.execute(request(input, output), USUAL.with(Deadline.after(Duration.ZERO))));
    assertHoldsNothing(output);
    write(output, 3, 4);
    duringFloor =
        () -> {
          throw new KernelException("a test wants it so");
        };
    assertFailed(ErrorStatus.GENERAL_FAILURE, floor.execute(request(input, output), USUAL));
    assertHoldsNothing(output);
    assertArrayEquals(new float[] {1.5f, -0.5f}, read(input));
  }

  @Test
  void aRefusedRequestLeavesAllAsItWas() throws DeviceException {
    DeviceBuffer empty = buffer();
    DeviceBuffer output = buffer(3, 4);
    assertFailed(ErrorStatus.GENERAL_FAILURE, floor.execute(request(empty, output), USUAL));
    assertFailed(ErrorStatus.INVALID_ARGUMENT, floor.execute(request(output, output), USUAL));
    Request part =
        new Request(
            List.of(new Location(0, 0, 8, Shape.NONE)),
            List.of(new Location(0, 0, 0, Shape.NONE)),
            List.of(new MemoryPool.Device(output)));
    assertFailed(ErrorStatus.INVALID_ARGUMENT, floor.execute(part, USUAL));
    assertArrayEquals(new float[] {3, 4}, read(output));
  }

  @Test
  void buffersOfOthersAreRefused() throws DeviceException {
    TestDevice other = TestDevice.withBuffers(() -> {});
    try (PreparedModel foreign = other.prepare(model(Shape.of(2)), PrepareConfig.DEFAULT);
        DeviceBuffer input = other.allocate(DESC, List.of(in(foreign)));
        DeviceBuffer output = buffer()) {
      write(input, 1, 2);
      assertFailed(ErrorStatus.INVALID_ARGUMENT, floor.execute(request(input, output), USUAL));
      assertRefused(
          ErrorStatus.INVALID_ARGUMENT,
          assertThrows(
              DeviceException.class, () -> device.allocate(DESC, List.of(in(floor), in(foreign)))));
      DeviceBuffer closed = buffer(1, 2);
      closed.close();
      assertFailed(ErrorStatus.INVALID_ARGUMENT, floor.execute(request(closed, output), USUAL));
    }
    assertRefused(
        ErrorStatus.GENERAL_FAILURE,
        assertThrows(
            DeviceException.class, () -> new TestDevice().allocate(DESC, List.of(in(floor)))));
  }

  @Test
  void fencedExecutionsReadWhatIsWrittenBehindTheirFences() throws Exception {
    DeviceBuffer input = buffer();
    DeviceBuffer output = buffer();
    SyncFence fence = new SyncFence();
    try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
      Future<?> running =
          thread.submit(() -> floor.executeFenced(request(input, output), List.of(fence), USUAL));
      write(input, 2.5f, 3.5f);
      fence.signal();
      running.get(60, TimeUnit.SECONDS);
    }
    assertArrayEquals(new float[] {2, 3}, read(output));
  }

  @Test
  void aRunningExecutionKeepsWhatIsClosed() throws DeviceException {
    DeviceBuffer input = buffer(1.5f, -0.5f);
    DeviceBuffer output = buffer();
    duringFloor =
        () -> {
          input.close();
          device.tracker().close();
        };
    assertInstanceOf(Completed.class, floor.execute(request(input, output), USUAL));
    duringFloor = () -> {};
    assertFailed(ErrorStatus.DEVICE_UNAVAILABLE, floor.execute(request(input, output), USUAL));
    assertRefused(
        ErrorStatus.DEVICE_UNAVAILABLE, assertThrows(DeviceException.class, () -> read(output)));
    assertRefused(
        ErrorStatus.DEVICE_UNAVAILABLE, assertThrows(DeviceException.class, this::buffer));
  }

  /** Whichever of two writes ends last: nobody takes a mixture for a result. */
  @Test
  void writesThatMeetLeaveNothing() throws DeviceException {
    DeviceBuffer input = buffer(1.5f, -0.5f);
    DeviceBuffer output = buffer();
    duringFloor = () -> assertThrows(DeviceException.class, () -> write(output, 5, 6));
    assertFailed(ErrorStatus.GENERAL_FAILURE, floor.execute(request(input, output), USUAL));
    assertHoldsNothing(output);
    ManagedBuffer managed = assertInstanceOf(ManagedBuffer.class, output);
    long first = managed.beginWrite();
    long second = managed.beginWrite();
    assertEquals(false, managed.endWrite(first, true, Shape.of(2)));
    assertEquals(false, managed.endWrite(second, true, Shape.of(2)));
    assertHoldsNothing(output);
    write(output, 5, 6);
    assertArrayEquals(new float[] {5, 6}, read(output));
  }

  @Test
  void anInputThatIsWrittenUnderItsReaderFailsTheReader() throws DeviceException {
    DeviceBuffer input = buffer(1.5f, -0.5f);
    DeviceBuffer output = buffer();
    duringFloor =
        () -> {
          try {
            write(input, 5, 6);
          } catch (DeviceException e) {
            throw new AssertionError(e);
          }
        };
    assertFailed(ErrorStatus.GENERAL_FAILURE, floor.execute(request(input, output), USUAL));
    assertHoldsNothing(output);
    assertArrayEquals(new float[] {5, 6}, read(input));
  }

  @Test
  void dimensionsThatTheModelLeavesOpenComeFromTheBuffer() throws DeviceException {
    try (PreparedModel open = device.prepare(model(Shape.of(0)), PrepareConfig.DEFAULT)) {
      DeviceBuffer input = device.allocate(new BufferDesc(Shape.of(2)), List.of(in(open)));
      DeviceBuffer output = device.allocate(new BufferDesc(Shape.of(2)), List.of(out(open)));
      DeviceBuffer small = device.allocate(new BufferDesc(Shape.of(1)), List.of(out(open)));
      DeviceBuffer large = device.allocate(new BufferDesc(Shape.of(3)), List.of(out(open)));
      write(input, 1.5f, -0.5f);
      write(small, 9);
      assertInstanceOf(Completed.class, open.execute(request(input, output), USUAL));
      assertArrayEquals(new float[] {1, -1}, read(output));
      for (DeviceBuffer unfit : List.of(small, large)) {
        assertFailed(ErrorStatus.GENERAL_FAILURE, open.execute(request(input, unfit), USUAL));
        try (SharedMemory memory = unfit == small ? memory(0) : memory(0, 0, 0)) {
          assertRefused(
              ErrorStatus.GENERAL_FAILURE,
              assertThrows(DeviceException.class, () -> unfit.copyTo(memory)));
        }
      }
    }
  }

  /** One buffer for values of several sizes, of which each execution learns by the input. */
  @Test
  void aBufferOfUnknownDimensionsTakesThoseOfEachValue() throws DeviceException {
    try (PreparedModel open = device.prepare(model(Shape.of(0)), PrepareConfig.DEFAULT)) {
      DeviceBuffer input = device.allocate(DESC, List.of(in(open), out(open)));
      DeviceBuffer output = device.allocate(DESC, List.of(in(open), out(open)));
      assertFailed(ErrorStatus.GENERAL_FAILURE, open.execute(request(input, output), USUAL));
      for (int length : new int[] {2, 1, 5, 3, 100}) {
        float[] values = new float[length];
        float[] floors = new float[length];
        for (int i = 0; i < length; i++) {
          values[i] = i + 0.5f;
          floors[i] = i;
        }
        try (SharedMemory memory = memory(values)) {
          input.copyFrom(memory, Shape.of(length));
        }
        Completed completed =
            assertInstanceOf(Completed.class, open.execute(request(input, output), USUAL));
        assertEquals(Shape.of(length), completed.outputs().getFirst().shape());
        try (SharedMemory memory = memory(new float[length])) {
          output.copyTo(memory);
          assertArrayEquals(floors, memory.segment().toArray(ValueLayout.JAVA_FLOAT_UNALIGNED));
        }
        try (SharedMemory longer = memory(new float[length + 1])) {
          assertRefused(
              ErrorStatus.INVALID_ARGUMENT,
              assertThrows(DeviceException.class, () -> output.copyTo(longer)));
        }
        // What one execution wrote is what the next one reads, at its dimensions.
        assertInstanceOf(Completed.class, open.execute(request(output, input), USUAL));
      }
      DeviceBuffer three = device.allocate(new BufferDesc(Shape.of(3)), List.of(out(open)));
      assertFailed(ErrorStatus.GENERAL_FAILURE, open.execute(request(input, three), USUAL));
    }
  }

  /** Readers of the former bytes keep them while the buffer grows under them. */
  @Test
  void aBufferThatGrowsUnderItsReaderFailsTheReader() throws DeviceException {
    try (PreparedModel open = device.prepare(model(Shape.of(0)), PrepareConfig.DEFAULT)) {
      DeviceBuffer input = device.allocate(DESC, List.of(in(open)));
      DeviceBuffer output = device.allocate(DESC, List.of(out(open)));
      try (SharedMemory two = memory(1.5f, -0.5f);
          SharedMemory many = memory(new float[1 << 16])) {
        input.copyFrom(two, Shape.of(2));
        duringFloor =
            () -> {
              try {
                input.copyFrom(many, Shape.of(1 << 16));
              } catch (DeviceException e) {
                throw new AssertionError(e);
              }
            };
        assertFailed(ErrorStatus.GENERAL_FAILURE, open.execute(request(input, output), USUAL));
        duringFloor = () -> {};
        assertInstanceOf(Completed.class, open.execute(request(input, output), USUAL));
      }
    }
  }

  @Test
  void manyExecutionsShareAnInput() throws Exception {
    DeviceBuffer input = buffer(1.5f, -0.5f);
    try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
      List<Future<float[]>> runs =
          IntStream.range(0, 200)
              .mapToObj(
                  _ ->
                      threads.submit(
                          () -> {
                            try (DeviceBuffer output = buffer()) {
                              floor.execute(request(input, output), USUAL);
                              return read(output);
                            }
                          }))
              .toList();
      for (Future<float[]> run : runs) {
        assertEquals("[1.0, -1.0]", Arrays.toString(run.get(60, TimeUnit.SECONDS)));
      }
    }
  }
}
