// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.burst.BurstExecutor;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
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
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Executions by burst, called as the server of a burst calls them. */
class FramedBurstTest {
  private static final ExecutionConfig USUAL = ExecutionConfig.DEFAULT;
  private static final int IN = 3;
  private static final int OUT = 1000;

  private Runnable duringFloor = () -> {};
  private BurstExecutor executor;
  private int closedBursts;
  private final TestDevice device =
      TestDevice.withBursts(() -> duringFloor.run(), (_, served) -> serve(served));
  private final SharedMemory in = memory(1.5f, -0.5f);
  private final SharedMemory out = memory(0, 0);
  private final SharedMemory queue = memory(0);
  private PreparedModel floor;
  private BurstContext burst;

  private BurstContext serve(BurstExecutor served) {
    executor = served;
    return new BurstContext() {
      @Override
      public void freeMemory(int slot) {
        served.removeCacheEntry(slot);
      }

      @Override
      public void close() {
        closedBursts++;
      }
    };
  }

  @BeforeEach
  void open() throws DeviceException {
    floor = device.prepare(model(Shape.of(2)), PrepareConfig.DEFAULT);
    burst = floor.configureExecutionBurst(config());
    executor.addCacheEntry(in, IN);
    executor.addCacheEntry(out, OUT);
  }

  @AfterEach
  void close() {
    burst.close();
    floor.close();
    device.tracker().close();
    List.of(in, out, queue).forEach(SharedMemory::close);
    List.of(in, out).forEach(FramedBurstTest::assertUnmapped);
  }

  private BurstConfig config() {
    QueueDescriptor channel = new QueueDescriptor(queue, 1, 4);
    return new BurstConfig(
        _ -> List.of(), channel, channel, BurstConfig.Protocol.HAL_1_2, Duration.ZERO);
  }

  private static Model model(Shape shape) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int output = graph.output("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(OperationCode.FLOOR, List.of(input), List.of(output));
    return Model.of(graph.build());
  }

  private static SharedMemory memory(float... values) {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 4L * values.length);
    write(memory, values);
    return memory;
  }

  private static void write(SharedMemory memory, float... values) {
    MemorySegment.copy(
        values, 0, memory.segment(), ValueLayout.JAVA_FLOAT_UNALIGNED, 0, values.length);
  }

  private static float[] read(SharedMemory memory) {
    return memory.segment().toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
  }

  private static Location all(int pool) {
    return new Location(pool, 0, 8, Shape.NONE);
  }

  private Request request(Argument input, Argument output) {
    return new Request(List.of(input), List.of(output), pools(in, out));
  }

  private static List<MemoryPool> pools(SharedMemory... memories) {
    return List.of(memories).stream().<MemoryPool>map(MemoryPool.Shared::new).toList();
  }

  private static DeviceBuffer buffer(TestDevice device, PreparedModel floor)
      throws DeviceException {
    return device.allocate(
        new BufferDesc(Shape.NONE),
        List.of(
            new BufferRole(floor, Direction.INPUT, 0, 1),
            new BufferRole(floor, Direction.OUTPUT, 0, 1)));
  }

  private ExecutionResult execute(Request request) {
    return executor.execute(request, new int[] {IN, OUT}, USUAL);
  }

  private static void assertFailed(ErrorStatus status, ExecutionResult result) {
    assertEquals(status, assertInstanceOf(Failed.class, result, result.toString()).status());
  }

  private static void assertUnmapped(SharedMemory memory) {
    assertFalse(memory.segment().scope().isAlive(), "the memory is still mapped");
  }

  @Test
  void theSameRequestIsReadAnewAndDerivedOnce() {
    Request request = request(all(0), all(1));
    ExecutionResult first = execute(request);
    assertEquals(floor.execute(request, USUAL), first);
    assertArrayEquals(new float[] {1, -1}, read(out));
    write(in, 7.5f, 8.5f);
    assertSame(first, execute(request), "nothing about the result has changed");
    assertArrayEquals(new float[] {7, 8}, read(out));
  }

  /** As frames do that are under way at once. */
  @Test
  void requestsThatTakeTurnsAreDerivedOnce() {
    Request there = request(all(0), all(1));
    Request back = request(all(1), all(0));
    ExecutionResult first = execute(there);
    ExecutionResult second = execute(back);
    for (int i = 0; i < 3; i++) {
      write(in, 7.5f + i, 8.5f);
      assertSame(first, execute(there));
      assertArrayEquals(new float[] {7 + i, 8}, read(out));
      write(out, 1.5f, 2.5f);
      assertSame(second, execute(back));
      assertArrayEquals(new float[] {1, 2}, read(in));
    }
    // More than are remembered.
    for (int i = 0; i < 20; i++) {
      assertInstanceOf(Completed.class, execute(request(all(0), all(1))));
    }
    assertEquals(first, execute(there));
  }

  @Test
  void anotherRequestIsCheckedByItself() {
    execute(request(all(0), all(1)));
    write(in, 2.5f, 3.5f);
    Request half = request(new Location(0, 0, 4, Shape.NONE), all(1));
    assertFailed(ErrorStatus.INVALID_ARGUMENT, execute(half));
    Request small = request(all(0), new Location(1, 0, 4, Shape.NONE));
    assertEquals(floor.execute(small, USUAL), execute(small));
    assertInstanceOf(OutputInsufficientSize.class, execute(small));
    Request inPlace = request(all(0), all(0));
    assertInstanceOf(Completed.class, execute(inPlace));
    assertArrayEquals(new float[] {2, 3}, read(in));
    Request leftOut = request(all(0), Argument.NO_VALUE);
    assertEquals(floor.execute(leftOut, USUAL), execute(leftOut));
    Request pointer = request(new Request.Pointer(in.segment(), Shape.NONE), all(1));
    assertFailed(ErrorStatus.INVALID_ARGUMENT, execute(pointer));
  }

  @Test
  void outputsOfUnknownSizeAreComparedAfterEachRun() throws DeviceException {
    try (PreparedModel open = device.prepare(model(Shape.of(0)), PrepareConfig.DEFAULT);
        BurstContext _ = open.configureExecutionBurst(config())) {
      executor.addCacheEntry(in, IN);
      executor.addCacheEntry(out, OUT);
      Request whole = request(new Location(0, 0, 8, Shape.of(2)), all(1));
      Request part = request(new Location(0, 0, 4, Shape.of(1)), all(1));
      Request small = request(whole.inputs().get(0), new Location(1, 0, 4, Shape.NONE));
      for (Request request : List.of(whole, part, part, small, whole, whole, small)) {
        assertEquals(open.execute(request, USUAL), execute(request));
      }
    }
  }

  @Test
  void memoryInASlotStaysMappedUntilItIsFreed() {
    Request request = request(all(0), all(1));
    in.close();
    assertInstanceOf(Completed.class, execute(request));
    assertTrue(executor.isCacheEntryPresent(IN));
    burst.freeMemory(OUT + 1);
    assertInstanceOf(Completed.class, execute(request));
    burst.freeMemory(IN);
    assertFalse(executor.isCacheEntryPresent(IN));
    assertUnmapped(in);
    assertFailed(ErrorStatus.INVALID_ARGUMENT, execute(request));
    executor.addCacheEntry(in, IN);
    assertFalse(executor.isCacheEntryPresent(IN), "closed memory cannot be kept");
  }

  @Test
  void aSlotThatChangesItsMemoryChangesTheRequest() {
    Request request = request(all(0), all(1));
    execute(request);
    try (SharedMemory other = memory(4.5f, 5.5f)) {
      burst.freeMemory(IN);
      executor.addCacheEntry(other, IN);
      assertFailed(ErrorStatus.INVALID_ARGUMENT, execute(request));
      Request next = new Request(request.inputs(), request.outputs(), pools(other, out));
      assertInstanceOf(Completed.class, execute(next));
      assertArrayEquals(new float[] {4, 5}, read(out));
      burst.freeMemory(IN);
    }
  }

  @Test
  void buffersKeepTheirRules() throws DeviceException {
    DeviceBuffer first = buffer(device, floor);
    DeviceBuffer second = buffer(device, floor);
    Request request =
        new Request(
            List.of(new Location(0, 0, 0, Shape.NONE)),
            List.of(new Location(1, 0, 0, Shape.NONE)),
            List.of(new MemoryPool.Device(first), new MemoryPool.Device(second)));
    int[] none = {-1, -1};
    assertFailed(ErrorStatus.GENERAL_FAILURE, executor.execute(request, none, USUAL));
    first.copyFrom(in, Shape.NONE);
    assertInstanceOf(Completed.class, executor.execute(request, none, USUAL));
    second.copyTo(out);
    assertArrayEquals(new float[] {1, -1}, read(out));
    for (ExecutionConfig failing :
        List.of(USUAL.with(Deadline.after(Duration.ZERO)), USUAL.with(() -> Signal.CANCELLED))) {
      assertInstanceOf(Failed.class, executor.execute(request, none, failing));
      assertThrows(DeviceException.class, () -> second.copyTo(out), "it was to be written");
      assertInstanceOf(Completed.class, executor.execute(request, none, USUAL));
      second.copyTo(out);
    }
    second.close();
    assertFailed(ErrorStatus.INVALID_ARGUMENT, executor.execute(request, none, USUAL));
    first.copyTo(out);
    device.tracker().close();
    assertFailed(ErrorStatus.DEVICE_UNAVAILABLE, executor.execute(request, none, USUAL));
  }

  @Test
  void deadlinesAndCancellationsReachEachExecution() {
    Request request = request(all(0), all(1));
    for (int i = 0; i < 2; i++) {
      assertInstanceOf(Completed.class, execute(request));
      assertFailed(
          ErrorStatus.MISSED_DEADLINE_PERSISTENT,
          executor.execute(
              request, new int[] {IN, OUT}, USUAL.with(Deadline.after(Duration.ZERO))));
      assertFailed(
          ErrorStatus.GENERAL_FAILURE,
          executor.execute(request, new int[] {IN, OUT}, USUAL.with(() -> Signal.CANCELLED)));
    }
    ExecutionResult timed =
        executor.execute(request, new int[] {IN, OUT}, USUAL.withMeasureTiming(true));
    assertTrue(((Completed) timed).timing().onDevice().isPresent());
  }

  @Test
  void aBurstThatEndsDuringAnExecutionLetsGoOfAllBehindIt() {
    Request request = request(all(0), all(1));
    List.of(in, out).forEach(SharedMemory::close);
    duringFloor =
        () -> {
          burst.close();
          floor.close();
          assertTrue(in.segment().scope().isAlive());
        };
    assertInstanceOf(Completed.class, execute(request));
    assertEquals(1, closedBursts);
    List.of(in, out).forEach(FramedBurstTest::assertUnmapped);
    assertFailed(ErrorStatus.GENERAL_FAILURE, execute(request));
    assertFalse(executor.isCacheEntryPresent(IN));
  }

  @Test
  void closingTheModelEndsWhatItsBurstsKeep() throws DeviceException {
    Request request = request(all(0), all(1));
    execute(request);
    floor.close();
    assertEquals(0, closedBursts, "the context belongs to the client");
    List.of(in, out).forEach(SharedMemory::close);
    List.of(in, out).forEach(FramedBurstTest::assertUnmapped);
    assertFailed(ErrorStatus.GENERAL_FAILURE, execute(request));
    executor.addCacheEntry(queue, IN);
    assertFalse(executor.isCacheEntryPresent(IN));
    assertEquals(
        ErrorStatus.GENERAL_FAILURE,
        assertThrows(DeviceException.class, () -> floor.configureExecutionBurst(config()))
            .status());
  }

  @Test
  void withoutAServiceThereIsNoBurst() throws DeviceException {
    TestDevice alone = new TestDevice();
    try (PreparedModel model = alone.prepare(model(Shape.of(2)), PrepareConfig.DEFAULT)) {
      assertEquals(
          ErrorStatus.GENERAL_FAILURE,
          assertThrows(DeviceException.class, () -> model.configureExecutionBurst(config()))
              .status());
    }
  }
}
