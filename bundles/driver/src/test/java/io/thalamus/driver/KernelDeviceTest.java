// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.FencedExecution;
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
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.Timing;
import io.thalamus.operations.OperationCatalog;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The promises of a device of kernels beside right results. */
class KernelDeviceTest {
  private static final Shape SHAPE = Shape.of(2);
  private static final ExecutionConfig USUAL = ExecutionConfig.DEFAULT;

  /** Two FLOORs in a row. */
  private static Model model() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    int between = graph.temporary("", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    int output = graph.output("", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    graph.operation(OperationCode.FLOOR, List.of(input), List.of(between));
    graph.operation(OperationCode.FLOOR, List.of(between), List.of(output));
    return Model.of(graph.build());
  }

  private static Floats arguments() {
    return new Floats().input(Shape.NONE, 1.5f, -0.5f).output(2);
  }

  private static void assertFailed(ErrorStatus status, String word, ExecutionResult result) {
    Failed failed = assertInstanceOf(Failed.class, result, result.toString());
    assertEquals(status, failed.status());
    assertTrue(failed.message().contains(word), failed.message());
  }

  private static void assertRefused(Request request, ErrorStatus status, String word)
      throws DeviceException {
    try (PreparedModel prepared = new TestDevice().prepare(model(), PrepareConfig.DEFAULT)) {
      assertFailed(status, word, prepared.execute(request, USUAL));
    }
  }

  @Test
  void claimsWhatItHasKernelsFor() throws DeviceException {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    int none = graph.int32(0);
    List<Integer> between = new ArrayList<>(List.of(input));
    for (int i = 0; i < 4; i++) {
      between.add(
          i == 3
              ? graph.output("", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE)
              : graph.temporary("", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE));
    }
    graph.operation(OperationCode.FLOOR, List.of(input), List.of(between.get(1)));
    graph.operation(
        OperationCode.MUL, List.of(between.get(1), input, none), List.of(between.get(2)));
    graph.operation(
        new ExtensionOperationType("com.example", 1, "TWIST"),
        List.of(between.get(2)),
        List.of(between.get(3)));
    graph.operation(
        OperationCode.ADD, List.of(between.get(3), input, none), List.of(between.get(4)));
    Model model = Model.of(graph.build());
    BitSet claimed = new TestDevice().supportedOperations(model);
    BitSet expected = new BitSet();
    expected.set(0);
    expected.set(3);
    assertEquals(expected, claimed);
    DeviceException refused =
        assertThrows(
            DeviceException.class, () -> new TestDevice().prepare(model, PrepareConfig.DEFAULT));
    assertEquals(ErrorStatus.INVALID_ARGUMENT, refused.status());
    assertTrue(refused.getMessage().contains("operation 1 MUL"), refused.getMessage());
  }

  @Test
  void looksUpTheOperationsOfAModelOnce() throws DeviceException {
    AtomicInteger lookups = new AtomicInteger();
    KernelTable table =
        KernelTable.builder()
            .add(
                OperationCode.FLOOR,
                operation -> lookups.incrementAndGet() > 0,
                operation -> (inputs, outputs, scratch, work) -> {},
                OperandCode.TENSOR_FLOAT32)
            .build();
    KernelDevice device =
        new KernelDevice(new TestDevice().info(), table, OperationCatalog.standard()) {};
    Model model = model();
    BitSet supported = device.supportedOperations(model);
    assertEquals(2, supported.cardinality());
    assertEquals(2, lookups.get());
    supported.clear();
    assertEquals(2, device.supportedOperations(model).cardinality());
    assertEquals(2, lookups.get());

    // One that is equal is another model to the device.
    Model equal = model();
    assertEquals(model, equal);
    assertEquals(2, device.supportedOperations(equal).cardinality());
    assertEquals(4, lookups.get());
  }

  @Test
  void refusesInvalidModelsInBothCalls() {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    graph.output("", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    graph.operation(OperationCode.FLOOR, List.of(input), List.of(input));
    Model model = Model.of(graph.build());
    TestDevice device = new TestDevice();
    DeviceException asked =
        assertThrows(DeviceException.class, () -> device.supportedOperations(model));
    assertEquals(ErrorStatus.INVALID_ARGUMENT, asked.status());
    DeviceException prepared =
        assertThrows(DeviceException.class, () -> device.prepare(model, PrepareConfig.DEFAULT));
    assertEquals(ErrorStatus.INVALID_ARGUMENT, prepared.status());
  }

  @Test
  void refusesWorkAfterItsDeadline() throws DeviceException {
    TestDevice device = new TestDevice();
    Deadline now = Deadline.after(Duration.ZERO);
    DeviceException late =
        assertThrows(
            DeviceException.class, () -> device.prepare(model(), PrepareConfig.DEFAULT.with(now)));
    assertEquals(ErrorStatus.MISSED_DEADLINE_PERSISTENT, late.status());
    try (PreparedModel prepared = device.prepare(model(), PrepareConfig.DEFAULT);
        Floats arguments = arguments()) {
      assertFailed(
          ErrorStatus.MISSED_DEADLINE_PERSISTENT,
          "before the execution",
          prepared.execute(arguments.request(), USUAL.with(now)));
      assertTrue(arguments.isUntouched(0));
    }
  }

  @Test
  void stopsBetweenOperationsWhenTheDeadlineHasPassed() throws DeviceException {
    Deadline[] deadline = new Deadline[1];
    AtomicInteger ran = new AtomicInteger();
    TestDevice device =
        new TestDevice(
            () -> {
              ran.incrementAndGet();
              while (!deadline[0].hasPassed()) {
                Thread.onSpinWait();
              }
            });
    try (PreparedModel prepared = device.prepare(model(), PrepareConfig.DEFAULT);
        Floats arguments = arguments()) {
      deadline[0] = Deadline.after(Duration.ofMillis(300));
      assertFailed(
          ErrorStatus.MISSED_DEADLINE_TRANSIENT,
          "during the execution",
          prepared.execute(arguments.request(), USUAL.with(deadline[0])));
      assertEquals(1, ran.get());
    }
  }

  @Test
  void obeysItsControl() throws DeviceException {
    for (Signal signal : List.of(Signal.CANCELLED, Signal.DEADLINE)) {
      for (int continued = 0; continued < 2; continued++) {
        AtomicInteger ran = new AtomicInteger();
        AtomicInteger left = new AtomicInteger(continued);
        try (PreparedModel prepared =
                new TestDevice(ran::incrementAndGet).prepare(model(), PrepareConfig.DEFAULT);
            Floats arguments = arguments()) {
          ExecutionResult result =
              prepared.execute(
                  arguments.request(),
                  USUAL.with(() -> left.getAndDecrement() > 0 ? Signal.CONTINUE : signal));
          assertFailed(
              signal == Signal.CANCELLED
                  ? ErrorStatus.GENERAL_FAILURE
                  : ErrorStatus.MISSED_DEADLINE_TRANSIENT,
              signal == Signal.CANCELLED ? "cancelled" : "deadline",
              result);
          assertEquals(continued, ran.get());
        }
      }
    }
  }

  @Test
  void finishesWhatRunsWhenItIsClosed() throws Exception {
    CountDownLatch started = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    TestDevice device =
        new TestDevice(
            () -> {
              started.countDown();
              try {
                goOn.await(60, TimeUnit.SECONDS);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    try (Floats arguments = arguments();
        Floats late = arguments();
        ExecutorService thread = Executors.newSingleThreadExecutor()) {
      PreparedModel prepared = device.prepare(model(), PrepareConfig.DEFAULT);
      Future<ExecutionResult> running =
          thread.submit(() -> prepared.execute(arguments.request(), USUAL));
      assertTrue(started.await(60, TimeUnit.SECONDS));
      prepared.close();
      prepared.close();
      assertFailed(ErrorStatus.GENERAL_FAILURE, "closed", prepared.execute(late.request(), USUAL));
      goOn.countDown();
      assertInstanceOf(Completed.class, running.get(60, TimeUnit.SECONDS));
      assertArrayEquals(new float[] {1, -1}, arguments.result(0));
    }
  }

  @Test
  void keepsTheMemoriesOfAnExecutionMapped() throws Exception {
    Floats arguments = arguments();
    float[][] result = new float[1][];
    TestDevice device = new TestDevice(arguments::close);
    try (PreparedModel prepared = device.prepare(model(), PrepareConfig.DEFAULT)) {
      Request request = arguments.request();
      SharedMemory.Lease lease = arguments.memory(1).lend();
      assertInstanceOf(Completed.class, prepared.execute(request, USUAL));
      result[0] = arguments.result(0);
      lease.close();
      assertFailed(ErrorStatus.GENERAL_FAILURE, "closed", prepared.execute(request, USUAL));
    }
    assertArrayEquals(new float[] {1, -1}, result[0]);
  }

  @Test
  void refusesConstantsInClosedMemory() {
    SharedMemory pool = SharedMemory.allocate(MemoryKind.ASHMEM, 1024);
    SubgraphBuilder graph = new SubgraphBuilder();
    int constant =
        graph.constant(
            "",
            OperandCode.TENSOR_FLOAT32,
            Shape.of(256),
            Quantization.NONE,
            SubgraphBuilder.place(pool, 0, 1024));
    int output = graph.output("", OperandCode.TENSOR_FLOAT32, Shape.of(256), Quantization.NONE);
    graph.operation(OperationCode.FLOOR, List.of(constant), List.of(output));
    Model model = Model.of(graph.build());
    pool.close();
    DeviceException refused =
        assertThrows(
            DeviceException.class, () -> new TestDevice().prepare(model, PrepareConfig.DEFAULT));
    assertEquals(ErrorStatus.GENERAL_FAILURE, refused.status());
  }

  @Test
  void runsManyExecutionsAtOnce() throws Exception {
    try (PreparedModel prepared = new TestDevice().prepare(model(), PrepareConfig.DEFAULT);
        ExecutorService threads = Executors.newFixedThreadPool(8)) {
      List<Future<Boolean>> runs = new ArrayList<>();
      for (int i = 0; i < 400; i++) {
        float value = i + 0.5f;
        runs.add(
            threads.submit(
                () -> {
                  try (Floats arguments = new Floats().input(Shape.NONE, value, -value).output(2)) {
                    prepared.execute(arguments.request(), USUAL);
                    float[] result = arguments.result(0);
                    return result[0] == Math.floor(value) && result[1] == Math.floor(-value);
                  }
                }));
      }
      for (Future<Boolean> run : runs) {
        assertTrue(run.get(30, TimeUnit.SECONDS));
      }
    }
  }

  @Test
  void refusesOutputsInReadOnlyMemory(@TempDir Path folder) throws Exception {
    Path file = Files.write(folder.resolve("room"), new byte[8]);
    try (Floats arguments = arguments();
        SharedMemory readOnly = SharedMemory.map(file)) {
      Request good = arguments.request();
      List<MemoryPool> pools = new ArrayList<>(good.pools());
      pools.set(1, new MemoryPool.Shared(readOnly));
      assertRefused(
          new Request(good.inputs(), good.outputs(), pools),
          ErrorStatus.INVALID_ARGUMENT,
          "read-only");
    }
  }

  @Test
  void readsInputsInReadOnlyMemory(@TempDir Path folder) throws IOException, DeviceException {
    Path file = Files.write(folder.resolve("input"), new byte[8]);
    try (Floats arguments = arguments();
        SharedMemory readOnly = SharedMemory.map(file);
        PreparedModel prepared = new TestDevice().prepare(model(), PrepareConfig.DEFAULT)) {
      Request good = arguments.request();
      List<MemoryPool> pools = new ArrayList<>(good.pools());
      pools.set(0, new MemoryPool.Shared(readOnly));
      assertInstanceOf(
          Completed.class,
          prepared.execute(new Request(good.inputs(), good.outputs(), pools), USUAL));
      assertArrayEquals(new float[] {0, 0}, arguments.result(0));
    }
  }

  @Test
  void refusesRequestsThatDoNotFitTheModel() throws DeviceException {
    try (Floats arguments = arguments()) {
      Request good = arguments.request();
      ErrorStatus invalid = ErrorStatus.INVALID_ARGUMENT;
      assertRefused(new Request(List.of(), good.outputs(), good.pools()), invalid, "the request 0");
      assertRefused(new Request(good.inputs(), List.of(), good.pools()), invalid, "the request 0");
      assertRefused(withInput(good, new Location(2, 0, 8, Shape.NONE)), invalid, "pool 2 of 2");
      assertRefused(withInput(good, new Location(-1, 0, 8, Shape.NONE)), invalid, "pool -1");
      assertRefused(withInput(good, new Location(0, 4, 8, Shape.NONE)), invalid, "outside");
      assertRefused(withInput(good, new Location(0, -4, 8, Shape.NONE)), invalid, "outside");
      assertRefused(
          withInput(good, new Location(0, Long.MAX_VALUE, 8, Shape.NONE)), invalid, "outside");
      assertRefused(withInput(good, new Location(0, 0, 4, Shape.NONE)), invalid, "4 bytes");
      assertRefused(withInput(good, new Location(0, 0, 8, Shape.of(1, 2))), invalid, "1x2");
      assertRefused(withInput(good, new Location(0, 0, 8, Shape.of(3))), invalid, "3");
      assertRefused(
          new Request(good.inputs(), List.of(new Location(1, 0, 9, Shape.NONE)), good.pools()),
          invalid,
          "outside");
    }
  }

  private static Request withInput(Request request, Location input) {
    return new Request(List.of(input), request.outputs(), request.pools());
  }

  @Test
  void fencedExecutionsWaitAndTellTheirTiming() throws Exception {
    try (PreparedModel prepared = new TestDevice().prepare(model(), PrepareConfig.DEFAULT);
        Floats arguments = arguments()) {
      FencedExecution execution =
          prepared.executeFenced(
              arguments.request(), List.of(SyncFence.signalled()), USUAL.withMeasureTiming(true));
      execution.syncFence().future().get(60, TimeUnit.SECONDS);
      assertInstanceOf(Completed.class, execution.executionInfo().get().result());
      assertTrue(!execution.executionInfo().get().timingLaunched().equals(Timing.NONE));
      assertArrayEquals(new float[] {1, -1}, arguments.result(0));
    }
  }

  /**
   * One FLOOR of a constant in a hardware buffer, which the device cannot read, and one of an
   * input.
   */
  @Test
  void operationsOverConstantsInUnreadableMemoryAreNotClaimed() throws DeviceException {
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.HARDWARE_BUFFER, 8)) {
      SubgraphBuilder graph = new SubgraphBuilder();
      int constant =
          graph.constant(
              "",
              OperandCode.TENSOR_FLOAT32,
              SHAPE,
              Quantization.NONE,
              new Lifetime.ConstantReference(memory, 0, 8));
      int input = graph.input("", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
      for (int from : new int[] {constant, input}) {
        int to = graph.output("", OperandCode.TENSOR_FLOAT32, SHAPE, Quantization.NONE);
        graph.operation(OperationCode.FLOOR, List.of(from), List.of(to));
      }
      Model model = Model.of(graph.build());
      BitSet floorOfTheInput = BitSet.valueOf(new long[] {0b10});
      assertEquals(floorOfTheInput, new TestDevice().supportedOperations(model));
      DeviceException refused =
          assertThrows(
              DeviceException.class,
              () -> new TestDevice().prepare(model, PrepareConfig.DEFAULT).close());
      assertEquals(ErrorStatus.GENERAL_FAILURE, refused.status());
    }
  }
}
