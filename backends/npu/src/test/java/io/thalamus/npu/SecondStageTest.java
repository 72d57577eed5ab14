// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.model.Quantization;
import io.thalamus.tck.check.TestGraph;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;

/** The order of the searches for better programs. */
class SecondStageTest {
  private static final Quantization ANY = Quantization.of(0.5f, 120);
  private static final long PATIENCE_SECONDS = 60;

  private final AtomicLong clock = new AtomicLong();
  private final List<String> order = new ArrayList<>();
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch gate = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(4);

  /** A search that finds nothing better. */
  private class Search implements SecondStage.Work {
    private final String name;

    Search(String name) {
      this.name = name;
    }

    @Override
    public Program compile(BooleanSupplier isStopped) throws DeviceException {
      order.add(name);
      return null;
    }

    @Override
    public boolean isCached() {
      return false;
    }

    @Override
    public void store(Program better) {
      throw new IllegalStateException("there is nothing to store");
    }

    @Override
    public void close() {
      ended.countDown();
    }
  }

  /** Keeps the thread busy while the others come. */
  private final class First extends Search {
    First() {
      super("first");
    }

    @Override
    public Program compile(BooleanSupplier isStopped) throws DeviceException {
      begun.countDown();
      await(gate);
      return super.compile(isStopped);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(PATIENCE_SECONDS, TimeUnit.SECONDS), "it does not come");
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static NpuPreparedModel prepare(NpuDevice device, Model model, Priority priority)
      throws DeviceException {
    return (NpuPreparedModel) device.prepare(model, PrepareConfig.DEFAULT.with(priority));
  }

  @Test
  void higherPrioritiesGoFirstUnlessOthersHaveWaitedForLong() throws Exception {
    NpuConfig config = NpuConfig.standard().withSearch(0, false, 1);
    try (TestGraph graph = new TestGraph();
        NpuDevice device = new NpuDevice("1.2.3", config)) {
      int in = graph.input(TENSOR_QUANT8_ASYMM, ANY, 1, 4);
      graph.operation(
          OperationCode.ADD,
          List.of(in, in, graph.int32(0)),
          graph.output(TENSOR_QUANT8_ASYMM, ANY, 1, 4));
      try (SecondStage stage = new SecondStage(clock::get);
          NpuPreparedModel low = prepare(device, graph.model(), Priority.LOW);
          NpuPreparedModel high = prepare(device, graph.model(), Priority.HIGH)) {
        stage.submit(low, new First());
        await(begun);
        stage.submit(low, new Search("low, for long"));
        clock.addAndGet(2 * SecondStage.RISE_NANOS + 1);
        stage.submit(low, new Search("low"));
        stage.submit(high, new Search("high"));
        gate.countDown();
        await(ended);
      }
    }
    assertEquals(List.of("first", "low, for long", "high", "low"), order);
  }
}
