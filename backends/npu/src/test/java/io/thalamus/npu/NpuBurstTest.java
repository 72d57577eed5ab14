// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.burst.BurstExecutor;
import io.thalamus.cache.NoCacheEngine;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.npu.timing.OperatingPoint;
import io.thalamus.npu.timing.PowerBudget;
import io.thalamus.npu.timing.PowerState;
import io.thalamus.tck.check.TestGraph;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The hint that a burst is to the supply of the device. */
class NpuBurstTest {
  private static final byte[] VALUES = {1, 2, 3, 5, 8};
  private static final byte[] DOUBLED = {2, 4, 6, 10, 16};

  private BurstExecutor executor;
  private final NpuDevice npu =
      new NpuDevice(
          "1.0.0",
          NpuConfig.standard().withSearch(0, false, 1),
          new NoCacheEngine(),
          (_, served) -> serve(served));
  private final SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 2L * VALUES.length);
  private final Request request =
      new Request(
          List.of(new Location(0, 0, VALUES.length, Shape.NONE)),
          List.of(new Location(0, VALUES.length, VALUES.length, Shape.NONE)),
          List.of(new MemoryPool.Shared(memory)));
  private NpuPreparedModel prepared;

  private BurstContext serve(BurstExecutor served) {
    executor = served;
    executor.addCacheEntry(memory, 0);
    return new BurstContext() {
      @Override
      public void freeMemory(int slot) {}

      @Override
      public void close() {}
    };
  }

  @BeforeEach
  void prepare() throws Exception {
    memory.segment().asByteBuffer().put(VALUES);
    Quantization one = Quantization.of(1, 0);
    try (TestGraph graph = new TestGraph()) {
      int input = graph.input(TENSOR_QUANT8_ASYMM, one, 1, VALUES.length);
      int output = graph.output(TENSOR_QUANT8_ASYMM, one, 1, VALUES.length);
      graph.operation(OperationCode.ADD, List.of(input, input, graph.int32(0)), output);
      prepared = (NpuPreparedModel) npu.prepare(graph.model(), PrepareConfig.DEFAULT);
    }
  }

  @AfterEach
  void close() {
    prepared.close();
    npu.close();
    memory.close();
  }

  private BurstContext burst() throws Exception {
    QueueDescriptor channel = new QueueDescriptor(memory, 1, 1);
    return prepared.configureExecutionBurst(
        new BurstConfig(
            _ -> List.of(), channel, channel, BurstConfig.Protocol.HAL_1_2, Duration.ZERO));
  }

  /** Longer than the supply lingers. */
  private static void rest() throws InterruptedException {
    Thread.sleep(1 + PowerState.LINGER_NANOS / 1_000_000);
  }

  private Completed execute() {
    return assertInstanceOf(
        Completed.class, executor.execute(request, new int[] {0}, ExecutionConfig.DEFAULT));
  }

  @Test
  void theSupplyStaysUpAsLongAsABurstIsOpen() throws Exception {
    BurstContext first = burst();
    assertEquals(1, npu.chip().supply().ramps());
    BurstContext second = burst();
    for (int i = 0; i < 3; i++) {
      rest();
      assertEquals(VALUES.length, execute().bytesIn());
    }
    second.close();
    rest();
    prepared.execute(request, ExecutionConfig.DEFAULT);
    assertEquals(1, npu.chip().supply().ramps());
    first.close();
    for (int i = 0; i < 3; i++) {
      rest();
      prepared.execute(request, ExecutionConfig.DEFAULT);
    }
    assertEquals(4, npu.chip().supply().ramps());
    assertArrayEquals(
        DOUBLED, memory.segment().asSlice(VALUES.length).toArray(ValueLayout.JAVA_BYTE));
  }

  @Test
  void aClosedModelLetsTheSupplyFall() throws Exception {
    burst();
    prepared.close();
    rest();
    npu.chip().supply().begin(npu.chip().clock().nanoTime(), npuPoint());
    assertEquals(2, npu.chip().supply().ramps());
  }

  @Test
  void theReportOfAMinuteHasTheCostOfEachExecution() {
    PowerBudget with = prepared.minute(10, true);
    PowerBudget without = prepared.minute(10, false);
    NpuReport report = prepared.report();
    assertEquals(600, with.executions());
    assertEquals(report.nanos(), with.meanNanos());
    assertEquals(report.nanos() + PowerState.rampNanos(npuPoint()), without.meanNanos());
    double leakage = NpuConfig.standard().power().idleJoules(report.nanos(), npuPoint());
    assertTrue(with.joules() > 600 * (report.joules() - leakage));
    assertTrue(with.joules() > without.joules());
  }

  private static OperatingPoint npuPoint() {
    return NpuConfig.standard().points().choose(PrepareConfig.DEFAULT.preference());
  }
}
