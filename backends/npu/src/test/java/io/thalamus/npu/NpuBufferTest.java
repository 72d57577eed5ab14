// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.chaos.FaultInjector;
import io.thalamus.chaos.FaultPlan;
import io.thalamus.chaos.FaultyDevice;
import io.thalamus.chaos.ServiceSwitch;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.Device;
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
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.npu.timing.HostLink;
import io.thalamus.tck.check.TestGraph;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Buffers in the device's DRAM: what they take, what they save, and what they lose. */
@Timeout(120)
class NpuBufferTest {
  private static final byte[] VALUES = {1, 2, 3, 5, 8};
  private static final byte[] DOUBLED = {2, 4, 6, 10, 16};
  private static final BufferDesc DESC = new BufferDesc(Shape.NONE);

  /** A link so slow that the host's own time is nothing beside it. */
  private static final HostLink SLOW = new HostLink(1e-3, 10_000e9);

  private final NpuDevice npu =
      new NpuDevice(
          "1.0.0",
          NpuConfig.standard().withSearch(0, false, 1).withBuffers(4 * VALUES.length, SLOW));
  private final FaultInjector injector = new FaultInjector(ServiceSwitch.NONE, "test-npu-buffers");
  private final FaultyDevice device = new FaultyDevice(npu, injector);
  private PreparedModel prepared;

  @BeforeEach
  void prepare() throws DeviceException {
    prepared = doubling(device);
  }

  @AfterEach
  void close() {
    prepared.close();
    device.close();
    npu.close();
    injector.close();
  }

  private static PreparedModel doubling(Device device) throws DeviceException {
    Quantization one = Quantization.of(1, 0);
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_QUANT8_ASYMM, one, 1, VALUES.length);
      int output = graph.output(TENSOR_QUANT8_ASYMM, one, 1, VALUES.length);
      graph.operation(OperationCode.ADD, List.of(input, input, graph.int32(0)), output);
      return device.prepare(graph.model(), PrepareConfig.DEFAULT);
    }
  }

  private static DeviceBuffer buffer(Device device, PreparedModel model) throws DeviceException {
    return device.allocate(
        DESC,
        List.of(
            new BufferRole(model, Direction.INPUT, 0, 1),
            new BufferRole(model, Direction.OUTPUT, 0, 1)));
  }

  private DeviceBuffer buffer() throws DeviceException {
    return buffer(device, prepared);
  }

  private DeviceBuffer filled() throws DeviceException {
    DeviceBuffer buffer = buffer();
    write(buffer);
    return buffer;
  }

  private static SharedMemory memory() {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, VALUES.length);
    memory.segment().asByteBuffer().put(VALUES);
    return memory;
  }

  private static void write(DeviceBuffer buffer) throws DeviceException {
    try (SharedMemory memory = memory()) {
      buffer.copyFrom(memory, Shape.NONE);
    }
  }

  private static byte[] read(DeviceBuffer buffer) throws DeviceException {
    try (SharedMemory memory = memory()) {
      buffer.copyTo(memory);
      return memory.segment().toArray(ValueLayout.JAVA_BYTE);
    }
  }

  private static void assertRefused(ErrorStatus status, DeviceBuffer buffer) {
    assertEquals(status, assertThrows(DeviceException.class, () -> read(buffer)).status());
  }

  private static Request request(DeviceBuffer input, DeviceBuffer output) {
    return request(new MemoryPool.Device(input), 0, new MemoryPool.Device(output), 0);
  }

  private static Request request(MemoryPool input, int in, MemoryPool output, int out) {
    return new Request(
        List.of(new Location(0, 0, in, Shape.NONE)),
        List.of(new Location(1, 0, out, Shape.NONE)),
        List.of(input, output));
  }

  private ExecutionResult execute(DeviceBuffer input, DeviceBuffer output) {
    return prepared.execute(request(input, output), ExecutionConfig.DEFAULT);
  }

  private static void assertFailed(ErrorStatus status, ExecutionResult result) {
    assertEquals(status, assertInstanceOf(Failed.class, result, result.toString()).status());
  }

  private void script(String text) throws Exception {
    injector.add(FaultPlan.parse(text));
  }

  @Test
  void aDeviceWithFaultsUnwrapsModelsAndBuffers() throws Exception {
    DeviceBuffer input = filled();
    DeviceBuffer output = buffer();
    assertInstanceOf(Completed.class, execute(input, output));
    assertArrayEquals(DOUBLED, read(output));
    write(output);
    prepared
        .executeFenced(
            request(input, output), List.of(SyncFence.signalled()), ExecutionConfig.DEFAULT)
        .syncFence()
        .future()
        .get(60, TimeUnit.SECONDS);
    assertArrayEquals(DOUBLED, read(output));
    assertTrue(output.token() > 0);
    assertNotEquals(input.token(), output.token());
  }

  @Test
  void aCrashLosesWhatBuffersHold() throws Exception {
    DeviceBuffer input = filled();
    DeviceBuffer output = buffer();
    assertInstanceOf(Completed.class, execute(input, output));
    script("crash once");
    assertFailed(ErrorStatus.GENERAL_FAILURE, execute(input, output));
    assertRefused(ErrorStatus.GENERAL_FAILURE, input);
    assertRefused(ErrorStatus.GENERAL_FAILURE, output);
    assertFailed(ErrorStatus.GENERAL_FAILURE, execute(input, output));
    write(input);
    assertInstanceOf(Completed.class, execute(input, output));
    assertArrayEquals(DOUBLED, read(output));
  }

  @Test
  void theResetOfAHungDeviceLosesWhatBuffersHold() throws Exception {
    DeviceBuffer input = filled();
    DeviceBuffer output = filled();
    script("hang");
    FutureTask<ExecutionResult> hung = new FutureTask<>(() -> execute(input, output));
    FutureTask<byte[]> copy = new FutureTask<>(() -> read(input));
    Thread.ofPlatform().name("test-hung-execution").daemon().start(hung);
    Thread.ofPlatform().name("test-hung-copy").daemon().start(copy);
    while (injector.status().hungCalls() < 2) {
      Thread.sleep(1);
    }
    injector.reset();
    assertFailed(ErrorStatus.GENERAL_FAILURE, hung.get(60, TimeUnit.SECONDS));
    assertThrows(Exception.class, () -> copy.get(60, TimeUnit.SECONDS));
    assertRefused(ErrorStatus.GENERAL_FAILURE, input);
    assertRefused(ErrorStatus.GENERAL_FAILURE, output);
  }

  @Test
  void aLostDeviceComesBackWithEmptyBuffers() throws Exception {
    DeviceBuffer buffer = filled();
    script("lose for 1ms");
    while (injector.status().lost()) {
      assertThrows(DeviceException.class, () -> read(buffer));
    }
    assertRefused(ErrorStatus.GENERAL_FAILURE, buffer);
    write(buffer);
    assertArrayEquals(VALUES, read(buffer));
  }

  @Test
  void whatIsLostUnderAnExecutionFailsIt() throws Exception {
    DeviceBuffer input = filled();
    DeviceBuffer output = buffer();
    ExecutionConfig resetting =
        ExecutionConfig.DEFAULT.with(
            () -> {
              injector.reset();
              return Signal.CONTINUE;
            });
    assertFailed(ErrorStatus.GENERAL_FAILURE, prepared.execute(request(input, output), resetting));
    assertRefused(ErrorStatus.GENERAL_FAILURE, input);
    assertRefused(ErrorStatus.GENERAL_FAILURE, output);
  }

  @Test
  void aClosedDeviceEndsItsBuffers() throws DeviceException {
    DeviceBuffer buffer = buffer(npu, doubling(npu));
    write(buffer);
    npu.close();
    assertRefused(ErrorStatus.DEVICE_UNAVAILABLE, buffer);
    buffer.close();
  }

  private static ErrorStatus refusal(NpuDevice of, PreparedModel model) {
    return assertThrows(DeviceException.class, () -> buffer(of, model)).status();
  }

  @Test
  void theRoomForBuffersIsCounted() throws DeviceException {
    DeviceBuffer[] four = {buffer(), buffer(), buffer(), buffer()};
    try (PreparedModel model = doubling(npu)) {
      assertEquals(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, refusal(npu, model));
      four[2].close();
      four[2].close();
      buffer(npu, model).close();
      buffer(npu, model);
      assertEquals(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, refusal(npu, model));
    }
    NpuConfig tight = NpuConfig.standard().withBuffers(VALUES.length - 1, SLOW);
    try (NpuDevice small = new NpuDevice("1.0.0", tight);
        PreparedModel model = doubling(small)) {
      assertEquals(ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT, refusal(small, model));
    }
  }

  /** 5 bytes at a byte in 1,000 s, and 10,000 s to begin with. */
  @Test
  void onlyWhatIsNotOnTheDeviceIsTransferred() throws DeviceException {
    Duration transfer = Duration.ofSeconds(15_000);
    DeviceBuffer input = filled();
    DeviceBuffer output = buffer();
    try (SharedMemory memory = memory();
        SharedMemory results = memory()) {
      MemoryPool in = new MemoryPool.Shared(memory);
      MemoryPool out = new MemoryPool.Shared(results);
      int size = VALUES.length;
      MemoryPool inBuffer = new MemoryPool.Device(input);
      MemoryPool outBuffer = new MemoryPool.Device(output);
      assertTransfers(transfer.multipliedBy(2), size, size, request(in, size, out, size));
      assertTransfers(transfer, 0, size, request(inBuffer, 0, out, size));
      assertTransfers(transfer, size, 0, request(in, size, outBuffer, 0));
      assertTransfers(Duration.ZERO, 0, 0, request(inBuffer, 0, outBuffer, 0));
      assertArrayEquals(DOUBLED, results.segment().toArray(ValueLayout.JAVA_BYTE));
    }
  }

  /** The time in the driver beside that on the hardware, but for what the host takes. */
  private void assertTransfers(Duration time, long bytesIn, long bytesOut, Request request) {
    Completed completed =
        assertInstanceOf(
            Completed.class,
            prepared.execute(request, ExecutionConfig.DEFAULT.withMeasureTiming(true)));
    Timing timing = completed.timing();
    Duration beside = timing.inDriver().orElseThrow().minus(timing.onDevice().orElseThrow());
    assertEquals(time.toMinutes(), beside.toMinutes());
    assertEquals(bytesIn, completed.bytesIn());
    assertEquals(bytesOut, completed.bytesOut());
  }
}
