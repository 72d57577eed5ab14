// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstSettings;
import io.thalamus.burst.QueueBurstService;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.isolation.proxy.RemoteDevice;
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
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases beyond the kit: many executions at once, bursts, and the end of a process. */
class PairTest {
  private static final int ELEMENTS = 16;
  static final long BYTES = 4L * ELEMENTS;

  /** The sum of two vectors. */
  static Model add() {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(ELEMENTS);
    int a = graph.input("a", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int b = graph.input("b", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    int none = graph.int32(0);
    int sum = graph.output("sum", OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    graph.operation(OperationCode.ADD, List.of(a, b, none), List.of(sum));
    return Model.of(graph.build());
  }

  /** A request whose arguments stand behind one another in a memory. */
  static Request request(SharedMemory memory) {
    return new Request(
        List.of(
            new Request.Location(0, 0, BYTES, Shape.NONE),
            new Request.Location(0, BYTES, BYTES, Shape.NONE)),
        List.of(new Request.Location(0, 2 * BYTES, BYTES, Shape.NONE)),
        List.of(new MemoryPool.Shared(memory)));
  }

  private static void fill(MemorySegment arguments, float value) {
    for (int i = 0; i < ELEMENTS; i++) {
      arguments.setAtIndex(ValueLayout.JAVA_FLOAT, i, value + i);
      arguments.setAtIndex(ValueLayout.JAVA_FLOAT, ELEMENTS + i, 2 * value);
    }
  }

  private static void check(MemorySegment sums, float value) {
    for (int i = 0; i < ELEMENTS; i++) {
      assertEquals(3 * value + i, sums.getAtIndex(ValueLayout.JAVA_FLOAT, i), "element " + i);
    }
  }

  @Test
  void manyThreadsExecuteByBurstsAndByPointers() throws Exception {
    try (Pair pair = CpuPairTest.cpu();
        PreparedModel model = pair.prepare(add(), PrepareConfig.DEFAULT);
        ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<Void>> ends = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        int first = 1000 * t;
        boolean isByPointer = t % 2 == 0;
        Callable<Void> work =
            () -> {
              executeMany(model, first, isByPointer);
              return null;
            };
        ends.add(threads.submit(work));
      }
      for (Future<Void> end : ends) {
        end.get();
      }
      assertTrue(
          Thread.getAllStackTraces().keySet().stream()
              .anyMatch(thread -> thread.getName().startsWith("burst-")),
          "no execution went by burst");
    }
  }

  private static void executeMany(PreparedModel model, int first, boolean isByPointer) {
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 3 * BYTES);
        Arena arena = Arena.ofConfined()) {
      MemorySegment segment =
          isByPointer ? arena.allocate(3 * BYTES, Long.BYTES) : memory.segment();
      Request request = isByPointer ? pointers(segment) : request(memory);
      for (int i = 0; i < 200; i++) {
        fill(segment, first + i);
        assertInstanceOf(
            ExecutionResult.Completed.class, model.execute(request, ExecutionConfig.DEFAULT));
        check(segment.asSlice(2 * BYTES), first + i);
      }
    }
  }

  private static Request pointers(MemorySegment segment) {
    return new Request(
        List.of(
            new Request.Pointer(segment.asSlice(0, BYTES), Shape.NONE),
            new Request.Pointer(segment.asSlice(BYTES, BYTES), Shape.NONE)),
        List.of(new Request.Pointer(segment.asSlice(2 * BYTES, BYTES), Shape.NONE)),
        List.of());
  }

  @Test
  void theDeviceServesTheBurstsOfClients() throws Exception {
    try (Pair pair = CpuPairTest.cpu();
        PreparedModel model = pair.prepare(add(), PrepareConfig.DEFAULT);
        QueueBurstService bursts = new QueueBurstService();
        BurstClient client = bursts.open(model, BurstSettings.DEFAULT)) {
      assertTrue(client.isServedByDriver());
      // Memories come and go, and their slots go to others.
      for (int i = 0; i < 50; i++) {
        try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 3 * BYTES)) {
          fill(memory.segment(), i);
          assertTrue(client.send(request(memory), ExecutionConfig.DEFAULT));
          assertInstanceOf(ExecutionResult.Completed.class, receive(client));
          check(memory.segment().asSlice(2 * BYTES), i);
        }
      }
    }
  }

  private static ExecutionResult receive(BurstClient client) {
    return client.receive(Duration.ofSeconds(20).toNanos());
  }

  @Test
  void namedFilesCarryWhatDescriptorsMayNot() throws Exception {
    CpuDevice cpu = new CpuDevice("1.0.0");
    RemoteDevice.Limits limits =
        new RemoteDevice.Limits(Duration.ofSeconds(60), Duration.ofSeconds(60), false);
    try (Pair pair = Pair.of(cpu, cpu::close, limits);
        PreparedModel model = pair.prepare(add(), PrepareConfig.DEFAULT)) {
      assertFalse(pair.remote().isByDescriptor());
      executeMany(model, 0, true);
      executeMany(model, 1000, false);
      try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, BYTES)) {
        DeviceBuffer buffer =
            pair.allocate(
                new BufferDesc(Shape.NONE),
                List.of(new BufferRole(model, BufferRole.Direction.INPUT, 0, 1)));
        memory.segment().setAtIndex(ValueLayout.JAVA_FLOAT, 3, 5);
        buffer.copyFrom(memory, Shape.NONE);
        memory.segment().fill((byte) 0);
        buffer.copyTo(memory);
        assertEquals(5, memory.segment().getAtIndex(ValueLayout.JAVA_FLOAT, 3));
        buffer.close();
      }
      try (Stream<Path> files = Files.list(pair.folder())) {
        assertEquals(List.of("socket"), files.map(file -> file.getFileName().toString()).toList());
      }
    }
  }

  /** A device that is short of something for a while, or does not say for how long. */
  private static final class BusyDevice extends DelegatingDevice {
    private final Optional<Duration> retryAfter;

    BusyDevice(Optional<Duration> retryAfter) {
      super(new CpuDevice("1.0.0"));
      this.retryAfter = retryAfter;
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      throw new DeviceException(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "no room", retryAfter, null);
    }
  }

  @Test
  void aRefusalSaysWhenToTryAgainAlsoFromAnotherProcess() throws Exception {
    for (Optional<Duration> time :
        List.of(Optional.of(Duration.ofNanos(3_000_000_007L)), Optional.<Duration>empty())) {
      try (Pair pair = Pair.of(new BusyDevice(time), () -> {})) {
        DeviceException refusal =
            assertThrows(DeviceException.class, () -> pair.prepare(add(), PrepareConfig.DEFAULT));
        assertEquals(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, refusal.status());
        assertEquals(time, refusal.retryAfter());
      }
    }
  }

  /** The other process knows how much time was left at the start, by a clock of its own. */
  @Test
  void aDeadlineByAnotherClockStopsTheDevice() throws Exception {
    int steps = 50_000;
    AtomicLong now = new AtomicLong();
    Deadline deadline = Deadline.after(Duration.ofMinutes(1), now::get);
    ExecutionControl control =
        () -> {
          now.addAndGet(Duration.ofSeconds(25).toNanos());
          return ExecutionControl.Signal.CONTINUE;
        };
    try (Pair pair = Pair.of(new SteppingDevice(), () -> {});
        PreparedModel model = pair.prepare(add(), PrepareConfig.DEFAULT);
        SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 3 * BYTES)) {
      memory.segment().set(ValueLayout.JAVA_INT, SteppingDevice.STEPS, steps);
      ExecutionResult result =
          model.execute(request(memory), ExecutionConfig.DEFAULT.with(deadline).with(control));
      assertEquals(ErrorStatus.MISSED_DEADLINE_TRANSIENT, result.status(), result::toString);
      int done = memory.segment().get(ValueLayout.JAVA_INT, SteppingDevice.DONE);
      assertTrue(done < steps, () -> "all " + steps + " steps were taken");
    }
  }

  /** A control that says what it was asked. */
  private static final class Asked implements ExecutionControl {
    private final boolean isPauseWanted;
    private final AtomicInteger checkpoints = new AtomicInteger();
    private final AtomicInteger statuses = new AtomicInteger();

    Asked(boolean isPauseWanted) {
      this.isPauseWanted = isPauseWanted;
    }

    @Override
    public Signal checkpoint() {
      checkpoints.incrementAndGet();
      return Signal.CONTINUE;
    }

    @Override
    public Signal status() {
      statuses.incrementAndGet();
      return Signal.CONTINUE;
    }

    @Override
    public boolean isPauseWanted() {
      return isPauseWanted;
    }
  }

  /** A yield of the thread that waits gives nobody a processor, and the device works on. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whoWaitsForAnotherProcessPassesACheckpointOnlyForAPause(boolean isPauseWanted)
      throws Exception {
    Asked control = new Asked(isPauseWanted);
    try (Pair pair = Pair.of(new SteppingDevice(), () -> {});
        PreparedModel model = pair.prepare(add(), PrepareConfig.DEFAULT);
        SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 3 * BYTES)) {
      memory.segment().set(ValueLayout.JAVA_INT, SteppingDevice.STEPS, 100);
      ExecutionResult result =
          model.execute(request(memory), ExecutionConfig.DEFAULT.with(control));
      assertEquals(ErrorStatus.NONE, result.status(), result::toString);
    }
    assertEquals(isPauseWanted, control.checkpoints.get() > 0, control.checkpoints::toString);
    assertEquals(!isPauseWanted, control.statuses.get() > 1, control.statuses::toString);
  }

  @Test
  void aDeviceThatHangsIsEnded() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    RemoteDevice.Limits limits =
        new RemoteDevice.Limits(Duration.ofMillis(200), Duration.ofSeconds(60), true);
    try (Pair pair = Pair.of(new HangingDevice(never), never::countDown, limits);
        PreparedModel model = pair.prepare(add(), PrepareConfig.DEFAULT);
        SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 3 * BYTES)) {
      ExecutionResult result = model.execute(request(memory), ExecutionConfig.DEFAULT);
      assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, result.status());
      assertTrue(((ExecutionResult.Failed) result).message().contains("hung"), result::toString);
      never.countDown();
    }
  }

  /** Prepares as the CPU device does, and never ends an execution. */
  private static final class HangingDevice extends DelegatingDevice {
    private final CountDownLatch never;

    HangingDevice(CountDownLatch never) {
      super(new CpuDevice("1.0.0"));
      this.never = never;
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      return new DelegatingPreparedModel(this, super.prepare(model, config)) {
        @Override
        public ExecutionResult execute(Request request, ExecutionConfig execution) {
          try {
            never.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
          return new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, "it was let go");
        }
      };
    }
  }

  @Test
  void buffersHoldNothingOnceTheProcessHasEnded() throws Exception {
    Pair pair = CpuPairTest.cpu();
    PreparedModel model = pair.prepare(add(), PrepareConfig.DEFAULT);
    QueueBurstService bursts = new QueueBurstService();
    BurstClient client = bursts.open(model, BurstSettings.DEFAULT);
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, BYTES)) {
      DeviceBuffer buffer =
          pair.allocate(
              new BufferDesc(Shape.NONE),
              List.of(new BufferRole(model, BufferRole.Direction.INPUT, 0, 1)));
      buffer.copyFrom(memory, Shape.NONE);
      buffer.copyTo(memory);
      pair.connection().end("killed for the test");
      assertEquals(
          ErrorStatus.DEVICE_UNAVAILABLE,
          assertThrows(DeviceException.class, () -> buffer.copyTo(memory)).status());
      buffer.close();
    }
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 3 * BYTES)) {
      assertEquals(
          ErrorStatus.DEVICE_UNAVAILABLE,
          model.execute(request(memory), ExecutionConfig.DEFAULT).status());
      assertTrue(client.isBroken(), "the client of a burst learns nothing");
    }
    client.close();
    bursts.close();
    model.close();
    pair.close();
  }
}
