// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstSettings;
import io.thalamus.burst.QueueBurstService;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bursts that a device serves over queues. */
@Timeout(60)
class ServedBurstTest {
  private static final ExecutionConfig USUAL = ExecutionConfig.DEFAULT;
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(30);

  private volatile Runnable duringFloor = () -> {};
  private final QueueBurstService service = new QueueBurstService();
  private final TestDevice device = TestDevice.withBursts(() -> duringFloor.run(), service::serve);
  private final Map<Integer, DeviceBuffer> buffers = new ConcurrentHashMap<>();
  private final SharedMemory in = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
  private final SharedMemory out = SharedMemory.allocate(MemoryKind.ASHMEM, 64);
  private PreparedModel floor;
  private BurstClient client;

  @BeforeEach
  void open() throws DeviceException {
    floor = prepare(device);
    client =
        service.open(
            floor,
            new BurstSettings(
                4, BurstConfig.DEFAULT_POLL_WINDOW, 64, 2, token -> buffers.get(token)));
    assertTrue(client.isServedByDriver());
  }

  private static PreparedModel prepare(TestDevice device) throws DeviceException {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(2);
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int output = graph.output("", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(OperationCode.FLOOR, List.of(input), List.of(output));
    return device.prepare(Model.of(graph.build()), PrepareConfig.DEFAULT);
  }

  /** Checks after each test that all memory is given back. */
  @AfterEach
  void close() {
    client.close();
    floor.close();
    device.tracker().close();
    service.close();
    for (SharedMemory memory : List.of(in, out)) {
      memory.close();
      assertFalse(memory.segment().scope().isAlive(), "a memory is still mapped");
    }
  }

  private static Location at(int pool, long offset) {
    return new Location(pool, offset, 8, Shape.NONE);
  }

  private Request request(Argument input, Argument output) {
    return new Request(
        List.of(input),
        List.of(output),
        List.of(new MemoryPool.Shared(in), new MemoryPool.Shared(out)));
  }

  private void write(long offset, float... values) {
    MemorySegment.copy(
        values, 0, in.segment(), ValueLayout.JAVA_FLOAT_UNALIGNED, offset, values.length);
  }

  private float[] read(long offset) {
    return out.segment().asSlice(offset, 8).toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
  }

  private ExecutionResult execute(Request request) {
    assertTrue(client.send(request, USUAL));
    return client.receive(PATIENCE);
  }

  private DeviceBuffer buffer() throws DeviceException {
    DeviceBuffer buffer =
        device.allocate(
            new BufferDesc(Shape.NONE),
            List.of(
                new BufferRole(floor, Direction.INPUT, 0, 1),
                new BufferRole(floor, Direction.OUTPUT, 0, 1)));
    buffers.put(buffer.token(), buffer);
    return buffer;
  }

  @Test
  void resultsEqualThoseOfSynchronousExecutions() {
    write(0, 1.5f, -0.5f);
    for (Request request :
        List.of(
            request(at(0, 0), at(1, 0)),
            request(at(0, 0), new Location(1, 0, 4, Shape.NONE)),
            request(at(0, 60), at(1, 0)),
            request(at(0, 0), Argument.NO_VALUE),
            request(at(0, 0), new Location(1, 0, 8, Shape.of(3))))) {
      ExecutionResult expected = floor.execute(request, USUAL);
      for (int i = 0; i < 3; i++) {
        assertEquals(expected, execute(request));
      }
    }
    assertArrayEquals(new float[] {1, -1}, read(0));
  }

  @Test
  void framesThatTakeTurnsComeInOrder() {
    Request[] frames = new Request[4];
    for (int i = 0; i < frames.length; i++) {
      frames[i] = request(at(0, 8 * i), at(1, 8 * i));
    }
    for (int i = 0; i < 400 + frames.length; i++) {
      if (i >= frames.length) {
        assertInstanceOf(Completed.class, client.receive(PATIENCE));
        assertArrayEquals(new float[] {i - frames.length, 0}, read(8L * (i % frames.length)));
      }
      write(8L * (i % frames.length), i + 0.5f, 0.5f);
      assertTrue(client.send(frames[i % frames.length], USUAL));
    }
  }

  @Test
  void buffersTravelByTheirTokens() throws DeviceException {
    DeviceBuffer state = buffer();
    DeviceBuffer next = buffer();
    Request step =
        new Request(
            List.of(new Location(0, 0, 0, Shape.NONE)),
            List.of(new Location(1, 0, 0, Shape.NONE)),
            List.of(new MemoryPool.Device(state), new MemoryPool.Device(next)));
    assertEquals(ErrorStatus.GENERAL_FAILURE, execute(step).status());
    try (SharedMemory values = SharedMemory.allocate(MemoryKind.ASHMEM, 8)) {
      values.segment().set(ValueLayout.JAVA_FLOAT_UNALIGNED, 4, 2.5f);
      for (int i = 0; i < 3; i++) {
        state.copyFrom(values, Shape.NONE);
        assertInstanceOf(Completed.class, execute(step));
      }
      next.copyTo(values);
      assertEquals(2, values.segment().get(ValueLayout.JAVA_FLOAT_UNALIGNED, 4));
    }
    state.close();
    assertEquals(ErrorStatus.INVALID_ARGUMENT, execute(step).status());
    buffers.remove(next.token());
    assertEquals(ErrorStatus.INVALID_ARGUMENT, execute(step).status());
  }

  @Test
  void aMemoryThatIsClosedIsUnmappedAtOnce() {
    Request request = request(at(0, 0), at(1, 0));
    assertInstanceOf(Completed.class, execute(request));
    in.close();
    assertFalse(in.segment().scope().isAlive());
    assertFalse(client.send(request, USUAL), "the synchronous execution says that it is closed");
  }

  @Test
  void memoriesAreLentOnceToABurstOfTheDriverAndEachTimeWithoutOne() throws DeviceException {
    int executions = 100;
    Request request = request(at(0, 0), at(1, 0));
    assertEquals(0, timesLent(client, request, executions), "by a burst of the driver");
    assertEquals(2, client.statistics().slots());
    client.close();
    TestDevice plain = TestDevice.withBuffers(() -> {});
    try (PreparedModel model = prepare(plain);
        BurstClient other = service.open(model, BurstSettings.DEFAULT)) {
      assertFalse(other.isServedByDriver());
      assertEquals(
          2 * executions, timesLent(other, request, executions), "synchronously behind it");
      assertEquals(2, other.statistics().slots(), "memories that were asked for");
    } finally {
      plain.tracker().close();
    }
  }

  /** Returns how often both memories are lent during so many executions, the first left out. */
  private long timesLent(BurstClient burst, Request request, int executions) {
    long before = 0;
    for (int i = 0; i <= executions; i++) {
      assertTrue(burst.send(request, USUAL));
      assertInstanceOf(Completed.class, burst.receive(PATIENCE));
      before = i == 0 ? in.timesLent() + out.timesLent() : before;
    }
    return in.timesLent() + out.timesLent() - before;
  }

  @Test
  void requestsToAClosedModelFail() {
    Request request = request(at(0, 0), at(1, 0));
    assertInstanceOf(Completed.class, execute(request));
    floor.close();
    for (int i = 0; i < 3; i++) {
      assertInstanceOf(Failed.class, execute(request));
    }
  }

  @Test
  void aBurstThatIsClosedDuringAnExecutionKeepsNothing() throws Exception {
    CountDownLatch isRunning = new CountDownLatch(1);
    CountDownLatch goesOn = new CountDownLatch(1);
    duringFloor =
        () -> {
          isRunning.countDown();
          try {
            goesOn.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        };
    assertTrue(client.send(request(at(0, 0), at(1, 0)), USUAL));
    isRunning.await();
    CompletableFuture<Void> closing = CompletableFuture.runAsync(client::close);
    floor.close();
    in.close();
    assertTrue(in.segment().scope().isAlive(), "an execution reads it");
    goesOn.countDown();
    closing.get(30, TimeUnit.SECONDS);
  }
}
