// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.Timing;
import io.thalamus.npu.command.ExecutableFormat;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.timing.ArrayTiming;
import io.thalamus.npu.timing.Dataflow;
import io.thalamus.tck.check.EqualScores;
import io.thalamus.tck.check.TestGraph;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The device as the runtime sees it: stages, what it keeps of a model, times, departure. */
class NpuDeviceTest {
  private static final int SIDE = 13;
  private static final int CHANNELS = 21;
  private static final Quantization IN = Quantization.of(0.5f, 120);
  private static final Quantization FILTER = Quantization.of(0.25f, 131);
  private static final Quantization OUT = Quantization.of(6f, 117);

  private static NpuDevice device(int budget, boolean first, long seed) {
    return new NpuDevice("1.2.3", NpuConfig.standard().withSearch(budget, first, seed));
  }

  /** A convolution with padding, and the sum of its result and itself. */
  private static Model model(TestGraph graph) {
    Random random = new Random(3);
    byte[] filter = new byte[CHANNELS * 9 * CHANNELS];
    random.nextBytes(filter);
    int[] bias = random.ints(CHANNELS, -1000, 1000).toArray();
    int sum = graph.temporary(TENSOR_QUANT8_ASYMM, OUT, 1, SIDE, SIDE, CHANNELS);
    graph.operation(
        OperationCode.CONV_2D,
        List.of(
            graph.input(TENSOR_QUANT8_ASYMM, IN, 1, SIDE, SIDE, CHANNELS),
            graph.constant(TENSOR_QUANT8_ASYMM, FILTER, filter, CHANNELS, 3, 3, CHANNELS),
            graph.constant(
                TENSOR_INT32, Quantization.of(0.125f, 0), TestGraph.bytes(bias), CHANNELS),
            graph.int32(1),
            graph.int32(1),
            graph.int32(1),
            graph.int32(0)),
        sum);
    graph.operation(
        OperationCode.ADD,
        List.of(sum, sum, graph.int32(0)),
        graph.output(TENSOR_QUANT8_ASYMM, OUT, 1, SIDE, SIDE, CHANNELS));
    return graph.model();
  }

  private static byte[] input(int seed) {
    byte[] input = new byte[SIDE * SIDE * CHANNELS];
    new Random(seed).nextBytes(input);
    return input;
  }

  private static NpuPreparedModel prepare(NpuDevice device, Model model) throws DeviceException {
    return (NpuPreparedModel) device.prepare(model, PrepareConfig.DEFAULT);
  }

  private static byte[] file(NpuPreparedModel prepared) {
    return ExecutableFormat.write(prepared.program().machine().executable());
  }

  @Test
  void scoresThatHardlyDifferHaveSmallProbabilities() throws Exception {
    try (NpuDevice device = device(1, true, 1)) {
      EqualScores.check(device, Integer.MAX_VALUE);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void nothingButTheCommandsIsReadOnceTheModelIsPrepared(boolean first) throws Exception {
    try (NpuDevice device = device(64, first, 1)) {
      TestGraph graph = new TestGraph();
      Model model = model(graph);
      byte[] expected = TestGraph.run(new CpuDevice("1.0.0"), model, input(1));
      List<WeakReference<?>> dropped =
          List.of(new WeakReference<>(model), new WeakReference<>(model.main()));
      Subgraph arguments = new Subgraph(List.of(), List.of(), List.of(), List.of());
      try (NpuPreparedModel prepared = prepare(device, model)) {
        arguments =
            new Subgraph(
                List.of(model.main().input(0), model.main().output(0)),
                List.of(),
                List.of(0),
                List.of(1));
        // Unmaps the pool that weights and bias stood in.
        graph.close();
        model = null;
        graph = null;
        for (int i = 0; i < 100 && dropped.stream().anyMatch(one -> one.get() != null); i++) {
          System.gc();
          Thread.sleep(10);
        }
        for (WeakReference<?> one : dropped) {
          assertNull(one.get(), "the model is still held");
        }
        TestGraph.assertSame(
            expected, TestGraph.run(prepared, arguments, input(1)).get(0), "without its model");
      }
    }
  }

  @Test
  @Timeout(60)
  void theSecondStageTakesThePlaceOfTheFirstAndComputesTheSame() throws Exception {
    try (TestGraph graph = new TestGraph();
        NpuDevice device = device(200, false, 1)) {
      Model model = model(graph);
      try (NpuPreparedModel prepared = prepare(device, model)) {
        Program first = prepared.program();
        List<byte[]> before = TestGraph.run(prepared, model.main(), input(2));
        while (prepared.program() == first) {
          assertNull(prepared.secondStageFailure());
          Thread.onSpinWait();
        }
        assertNotSame(first, prepared.program());
        assertTrue(
            prepared.program().cycles() < first.cycles(),
            prepared.program().cycles() + " cycles after " + first.cycles());
        assertArrayEquals(before.get(0), TestGraph.run(prepared, model.main(), input(2)).get(0));
      }
    }
  }

  @Test
  @Timeout(60)
  void aClosedModelIsLetGoBeforeAndAfterItsTurn() throws Exception {
    try (TestGraph graph = new TestGraph();
        NpuDevice device = device(100_000_000, false, 1)) {
      Model model = model(graph);
      NpuPreparedModel searched = prepare(device, model);
      WeakReference<?> behind = closed(device, model);
      awaitCollected(behind, "behind a search that goes on");
      WeakReference<?> last = new WeakReference<>(searched);
      searched.close();
      searched = null;
      awaitCollected(last, "after the last search");
    }
  }

  private static WeakReference<?> closed(NpuDevice device, Model model) throws DeviceException {
    try (NpuPreparedModel prepared = prepare(device, model)) {
      return new WeakReference<>(prepared);
    }
  }

  private static void awaitCollected(WeakReference<?> reference, String when) throws Exception {
    for (int i = 0; i < 500 && reference.get() != null; i++) {
      System.gc();
      Thread.sleep(10);
    }
    assertNull(reference.get(), "a closed model is still held " + when);
  }

  @Test
  void theSameSeedGivesTheSameBytes() throws DeviceException {
    try (TestGraph graph = new TestGraph();
        NpuDevice one = device(50, true, 9);
        NpuDevice two = device(50, true, 9)) {
      Model model = model(graph);
      try (NpuPreparedModel a = prepare(one, model);
          NpuPreparedModel b = prepare(two, model)) {
        assertArrayEquals(file(a), file(b));
        assertEquals(a.program().cycles(), b.program().cycles());
        assertEquals(a.program().trace(), b.program().trace());
      }
    }
  }

  @Test
  void moreSearchNeverTakesMoreCycles() throws DeviceException {
    long last = Long.MAX_VALUE;
    long quick = 0;
    for (int budget : new int[] {0, 1, 10, 40, 160, 640}) {
      try (TestGraph graph = new TestGraph();
          NpuDevice device = device(budget, true, 4);
          NpuPreparedModel prepared = prepare(device, model(graph))) {
        long cycles = prepared.program().cycles();
        assertTrue(cycles <= last, budget + " tilings: " + cycles + " cycles, before " + last);
        last = cycles;
        quick = budget == 0 ? cycles : quick;
      }
    }
    assertTrue(last < quick, "640 tilings find nothing better than none");
  }

  /** Arrays and memories so small that everything is cut into tiles. */
  @Test
  void hardwareOfAnySizeComputesTheSame() throws DeviceException {
    try (TestGraph graph = new TestGraph()) {
      Model model = model(graph);
      byte[] expected = TestGraph.run(new CpuDevice("1.0.0"), model, input(5));
      int[][] sizes = {
        {1, 1, 8192, 256}, {3, 5, 4096, 300}, {16, 4, 1 << 14, 1000}, {8, 32, 1 << 20, 1 << 16}
      };
      for (int[] size : sizes) {
        for (Dataflow dataflow : Dataflow.values()) {
          Architecture architecture =
              new Architecture(
                  new ArrayTiming(size[0], size[1], dataflow),
                  size[1],
                  size[2],
                  size[3],
                  1 << 20,
                  1e9,
                  1e-8);
          NpuConfig config = NpuConfig.standard().with(architecture).withSearch(30, true, size[0]);
          try (NpuDevice device = new NpuDevice("1.0.0", config)) {
            TestGraph.assertSame(
                expected, TestGraph.run(device, model, input(5)), architecture + "");
          }
        }
      }
    }
  }

  @Test
  void aModelThatDoesNotFitIsRefusedWithTheReason() {
    Architecture all = NpuConfig.standard().architecture();
    Architecture small =
        new Architecture(
            all.array(),
            all.lanes(),
            all.scratchpad(),
            all.accumulators(),
            SIDE * SIDE * CHANNELS * 2,
            all.bytesPerSecond(),
            all.latencySeconds());
    try (TestGraph graph = new TestGraph();
        NpuDevice device = new NpuDevice("1.0.0", NpuConfig.standard().with(small))) {
      DeviceException refusal =
          assertThrows(DeviceException.class, () -> prepare(device, model(graph)));
      assertEquals(ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT, refusal.status());
      assertTrue(refusal.getMessage().contains("bytes"), refusal.getMessage());
    }
  }

  @Test
  void thePreferenceChoosesTheOperatingPoint() throws DeviceException {
    try (TestGraph graph = new TestGraph();
        NpuDevice device = device(0, true, 1)) {
      Model model = model(graph);
      Program fast = program(device, model, ExecutionPreference.FAST_SINGLE_ANSWER);
      Program saving = program(device, model, ExecutionPreference.LOW_POWER);
      assertTrue(fast.onDevice().compareTo(saving.onDevice()) < 0);
      assertTrue(saving.joules() < fast.joules(), saving.joules() + " J, " + fast.joules() + " J");
    }
  }

  private static Program program(NpuDevice device, Model model, ExecutionPreference preference)
      throws DeviceException {
    try (NpuPreparedModel prepared =
        (NpuPreparedModel) device.prepare(model, PrepareConfig.DEFAULT.with(preference))) {
      return prepared.program();
    }
  }

  @Test
  void theTimeOnTheDeviceIsTheSimulatedOne() throws DeviceException {
    try (TestGraph graph = new TestGraph();
        NpuDevice device = device(0, true, 1)) {
      Model model = model(graph);
      try (NpuPreparedModel prepared = prepare(device, model);
          Call call = Call.of(input(1))) {
        Completed completed =
            assertInstanceOf(
                Completed.class,
                prepared.execute(call.request(), ExecutionConfig.DEFAULT.withMeasureTiming(true)));
        Duration onDevice = completed.timing().onDevice().orElseThrow();
        assertEquals(prepared.program().onDevice(), onDevice);
        assertEquals(prepared.report().nanos(), onDevice.toNanos());
        assertTrue(completed.timing().inDriver().orElseThrow().compareTo(onDevice) >= 0);
        assertEquals(
            Timing.NONE,
            assertInstanceOf(
                    Completed.class, prepared.execute(call.request(), ExecutionConfig.DEFAULT))
                .timing());
      }
    }
  }

  @Test
  void askedToStopItStopsBetweenOperations() throws DeviceException {
    NpuDevice device = device(0, true, 1);
    try (TestGraph graph = new TestGraph();
        NpuPreparedModel prepared = prepare(device, model(graph));
        Call call = Call.of(input(1))) {
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
      device.close();
      assertFailed(
          ErrorStatus.DEVICE_UNAVAILABLE,
          prepared.execute(call.request(), ExecutionConfig.DEFAULT));
    } finally {
      device.close();
    }
  }

  private static void assertFailed(ErrorStatus status, ExecutionResult result) {
    assertEquals(status, assertInstanceOf(Failed.class, result).status());
  }

  /** A request in memory of its own. */
  private record Call(SharedMemory memory, Request request) implements AutoCloseable {
    static Call of(byte[] input) {
      SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 2L * input.length);
      MemorySegment.copy(MemorySegment.ofArray(input), 0, memory.segment(), 0, input.length);
      Request request =
          new Request(
              List.of(new Location(0, 0, input.length, Shape.NONE)),
              List.of(new Location(0, input.length, input.length, Shape.NONE)),
              List.of(new MemoryPool.Shared(memory)));
      return new Call(memory, request);
    }

    @Override
    public void close() {
      memory.close();
    }
  }

  @Test
  void aStoppedDeviceRefusesAndItsThreadHasEnded() throws Exception {
    try (TestGraph graph = new TestGraph()) {
      Set<Thread> before = searchThreads();
      NpuDevice device = device(100_000, false, 1);
      Model model = model(graph);
      NpuPreparedModel prepared = prepare(device, model);
      Program first = prepared.program();
      Set<Thread> own = searchThreads();
      own.removeAll(before);
      device.close();
      own.removeIf(thread -> !thread.isAlive());
      assertEquals(Set.of(), own);
      assertSame(first, prepared.program());
      assertThrows(DeviceException.class, () -> prepare(device, model));
      device.close();
      prepared.close();
    }
  }

  private static Set<Thread> searchThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("thalamus-npu-search"))
        .collect(Collectors.toSet());
  }
}
