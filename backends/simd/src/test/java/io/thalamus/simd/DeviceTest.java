// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.check.TestGraph;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The device as the runtime sees it: threads, concurrency, deadlines, departure. */
class DeviceTest {
  private static final int SIZE = 40_000;

  private final SimdDevice device = new SimdDevice("1.2.3", new Budget(3, 1));
  private final TestGraph graph = new TestGraph();
  private final Model model = steps(graph);

  /** Two steps that many threads can share: x + x, then clamped. */
  private static Model steps(TestGraph graph) {
    int input = graph.input(TENSOR_FLOAT32, Quantization.NONE, 4, SIZE / 4);
    int sum = graph.temporary(TENSOR_FLOAT32, Quantization.NONE, 4, SIZE / 4);
    graph.operation(OperationCode.ADD, List.of(input, input, graph.int32(0)), sum);
    graph.operation(
        OperationCode.LOGISTIC,
        List.of(sum),
        graph.output(TENSOR_FLOAT32, Quantization.NONE, 4, SIZE / 4));
    return graph.model();
  }

  @AfterEach
  void close() {
    device.close();
    graph.close();
  }

  private static byte[] values(int seed) {
    float[] values = new float[SIZE];
    for (int i = 0; i < SIZE; i++) {
      values[i] = (float) Math.sin(i * 0.1 + seed);
    }
    return TestGraph.bytes(values);
  }

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("thalamus-own-"))
        .sorted()
        .toList();
  }

  /** A request in memory of its own. */
  private record Call(SharedMemory memory, Request request) implements AutoCloseable {
    static Call of(int outputBytes) {
      SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 8L * SIZE);
      MemorySegment.copy(MemorySegment.ofArray(values(0)), 0, memory.segment(), 0, 4L * SIZE);
      List<Argument> inputs = List.of(new Location(0, 0, 4L * SIZE, Shape.NONE));
      List<Argument> outputs = List.of(new Location(0, 4L * SIZE, outputBytes, Shape.NONE));
      return new Call(memory, new Request(inputs, outputs, List.of(new MemoryPool.Shared(memory))));
    }

    @Override
    public void close() {
      memory.close();
    }
  }

  private static void assertFailed(ErrorStatus status, ExecutionResult result) {
    assertEquals(status, assertInstanceOf(Failed.class, result).status(), result.toString());
  }

  @Test
  void saysWhatItIs() {
    assertEquals("thalamus-simd", device.info().name());
    assertEquals("1.2.3", device.info().version());
    assertEquals(DeviceType.CPU, device.info().type());
    assertTrue(device.info().exactQuantized());
  }

  @Test
  void manyExecutionsOfOneModelRunAtOnce() throws Exception {
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
        ExecutorService callers = Executors.newFixedThreadPool(8)) {
      List<byte[]> expected = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        expected.add(TestGraph.run(prepared, model.main(), values(i)).get(0));
      }
      List<Callable<Void>> calls = new ArrayList<>();
      for (int i = 0; i < 400; i++) {
        int seed = i % 8;
        calls.add(
            () -> {
              byte[] actual = TestGraph.run(prepared, model.main(), values(seed)).get(0);
              TestGraph.assertSame(expected.get(seed), actual, "seed " + seed);
              return null;
            });
      }
      for (Future<Void> call : callers.invokeAll(calls)) {
        call.get();
      }
    }
  }

  @Test
  void threadsStartWithTheFirstExecutionAndEndWithTheDevice() throws DeviceException {
    SimdDevice own =
        new SimdDevice("1.0.0", new Budget(3, 1), "thalamus-own", WarmUp.Stage.ALWAYS_WARM);
    PreparedModel prepared = own.prepare(model, PrepareConfig.DEFAULT);
    assertEquals(List.of(), threads());
    TestGraph.run(prepared, model.main(), values(1));
    assertEquals(List.of("thalamus-own-1", "thalamus-own-2"), threads());
    own.close();
    assertEquals(List.of(), threads());
    own.close();
    try (Call call = Call.of(4 * SIZE)) {
      assertFailed(
          ErrorStatus.DEVICE_UNAVAILABLE,
          prepared.execute(call.request(), ExecutionConfig.DEFAULT));
    }
    assertThrows(DeviceException.class, () -> own.prepare(model, PrepareConfig.DEFAULT));
    prepared.close();
  }

  @Test
  void departureEndsRunningExecutionsWithAResult() throws Exception {
    for (int round = 0; round < 20; round++) {
      departure();
    }
  }

  private void departure() throws Exception {
    SimdDevice own = new SimdDevice("1.0.0", new Budget(3, 1));
    try (PreparedModel prepared = own.prepare(model, PrepareConfig.DEFAULT);
        ExecutorService callers = Executors.newFixedThreadPool(3)) {
      List<Future<ExecutionResult>> results = new ArrayList<>();
      AtomicInteger started = new AtomicInteger();
      for (int i = 0; i < 3; i++) {
        results.add(callers.submit(() -> executeUntilItFails(prepared, started)));
      }
      while (started.get() < 5) {
        Thread.onSpinWait();
      }
      own.close();
      for (Future<ExecutionResult> result : results) {
        assertFailed(ErrorStatus.DEVICE_UNAVAILABLE, result.get());
      }
    }
  }

  private static ExecutionResult executeUntilItFails(
      PreparedModel prepared, AtomicInteger started) {
    try (Call call = Call.of(4 * SIZE)) {
      ExecutionResult last;
      do {
        last = prepared.execute(call.request(), ExecutionConfig.DEFAULT);
        started.incrementAndGet();
      } while (last instanceof Completed);
      return last;
    }
  }

  @Test
  void askedToStopItStopsBetweenSteps() throws DeviceException {
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
        Call call = Call.of(4 * SIZE)) {
      AtomicInteger checkpoints = new AtomicInteger();
      ExecutionControl counting =
          () -> checkpoints.incrementAndGet() < 2 ? Signal.CONTINUE : Signal.CANCELLED;
      assertFailed(
          ErrorStatus.GENERAL_FAILURE,
          prepared.execute(call.request(), ExecutionConfig.DEFAULT.with(counting)));
      assertEquals(2, checkpoints.get());
      assertFailed(
          ErrorStatus.MISSED_DEADLINE_TRANSIENT,
          prepared.execute(call.request(), ExecutionConfig.DEFAULT.with(() -> Signal.DEADLINE)));
      assertFailed(
          ErrorStatus.MISSED_DEADLINE_PERSISTENT,
          prepared.execute(
              call.request(), ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofNanos(-1)))));
      assertInstanceOf(Completed.class, prepared.execute(call.request(), ExecutionConfig.DEFAULT));
    }
  }

  /** Wherever it was stopped: the next one is not the one that divided by zero. */
  @Test
  void anExecutionDoesNotEndWithTheFailureOfAStoppedOne() throws DeviceException {
    try (TestGraph quotient = new TestGraph()) {
      int input = quotient.input(TENSOR_INT32, Quantization.NONE, 4, SIZE / 4);
      quotient.operation(
          ThalamusExtension.FLOOR_DIV,
          List.of(input, input),
          quotient.output(TENSOR_INT32, Quantization.NONE, 4, SIZE / 4));
      try (PreparedModel prepared = device.prepare(quotient.model(), PrepareConfig.DEFAULT);
          Call zero = Call.of(4 * SIZE);
          Call one = Call.of(4 * SIZE)) {
        one.memory().segment().fill((byte) 1);
        for (int most = 1; most < 8; most++) {
          int last = most;
          AtomicInteger checkpoints = new AtomicInteger();
          ExecutionControl control =
              () -> checkpoints.incrementAndGet() < last ? Signal.CONTINUE : Signal.CANCELLED;
          assertFailed(
              ErrorStatus.GENERAL_FAILURE,
              prepared.execute(zero.request(), ExecutionConfig.DEFAULT.with(control)));
          assertInstanceOf(
              Completed.class, prepared.execute(one.request(), ExecutionConfig.DEFAULT));
        }
      }
    }
  }

  @Test
  void anOutputThatIsTooSmallIsToldAndNotWritten() throws DeviceException {
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
        Call call = Call.of(4 * SIZE - 4)) {
      ExecutionResult result = prepared.execute(call.request(), ExecutionConfig.DEFAULT);
      OutputInsufficientSize told = assertInstanceOf(OutputInsufficientSize.class, result);
      assertFalse(told.outputs().get(0).isSufficient());
      assertEquals(Shape.of(4, SIZE / 4), told.outputs().get(0).shape());
      assertEquals(
          -1,
          call.memory()
              .segment()
              .asSlice(4L * SIZE)
              .mismatch(MemorySegment.ofArray(new byte[4 * SIZE])));
    }
  }

  @Test
  void aRequestMustGiveAllInputs() throws DeviceException {
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
        Call call = Call.of(4 * SIZE)) {
      Request without =
          new Request(List.of(Argument.NO_VALUE), call.request().outputs(), call.request().pools());
      assertFailed(ErrorStatus.GENERAL_FAILURE, prepared.execute(without, ExecutionConfig.DEFAULT));
    }
  }

  @Test
  void closedModelsRefuse() throws DeviceException {
    PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
    prepared.close();
    prepared.close();
    try (Call call = Call.of(4 * SIZE)) {
      assertFailed(
          ErrorStatus.GENERAL_FAILURE, prepared.execute(call.request(), ExecutionConfig.DEFAULT));
    }
  }

  @Test
  void oneThreadNeedsNoHelpers() throws DeviceException {
    byte[] many = TestGraph.run(device, model, values(3));
    try (SimdDevice alone = new SimdDevice("1.0.0", Budget.of(1))) {
      assertArrayEquals(many, TestGraph.run(alone, model, values(3)));
    }
  }
}
