// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.cache.NoCacheEngine;
import io.thalamus.driver.BurstSource;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.npu.NpuDevice.Host;
import io.thalamus.tck.check.TestGraph;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Searches for tilings end when their caller wants it, and calls when the device is about to leave.
 * The kit stops a prepare without a search.
 */
class StoppedPrepareTest {
  private static final Quantization SCALE = Quantization.of(0.5f, 120);
  private static final int OPERATIONS = 4;

  /** Sums in a row. */
  private static Model model() {
    try (TestGraph graph = new TestGraph()) {
      graph.chain(
          OperationCode.ADD, OperandCode.TENSOR_QUANT8_ASYMM, SCALE, OPERATIONS, 1, 13, 13, 64);
      return graph.model();
    }
  }

  private static void assertStopped(
      int budget, int checkpoints, Signal signal, ErrorStatus status) {
    AtomicInteger asked = new AtomicInteger();
    PrepareConfig config =
        PrepareConfig.DEFAULT.with(
            () -> asked.incrementAndGet() < checkpoints ? Signal.CONTINUE : signal);
    NpuConfig settings = NpuConfig.standard().withSearch(budget, true, 1);
    try (NpuDevice device = new NpuDevice("1.0.0", settings)) {
      Device any = device;
      DeviceException e = assertThrows(DeviceException.class, () -> any.prepare(model(), config));
      assertEquals(status, e.status(), e.getMessage());
    }
  }

  @ParameterizedTest
  @CsvSource({"CANCELLED, GENERAL_FAILURE", "DEADLINE, MISSED_DEADLINE_TRANSIENT"})
  void aSearchThatIsWaitedForEndsBetweenTilings(Signal signal, ErrorStatus status) {
    assertStopped(1 << 10, 3 * OPERATIONS + 20, signal, status);
  }

  /**
   * A bundle that stops waits for such calls, which have no control. The status says that the
   * device goes: its client has not learnt of it yet, and holds a GENERAL_FAILURE against it.
   */
  @Test
  void aDeviceThatIsAboutToLeaveLooksAtNoFurtherOperation() throws DeviceException {
    AtomicInteger asked = new AtomicInteger();
    Host leaving =
        new Host(
            BurstSource.NONE, InstantSource.system(), () -> asked.incrementAndGet() == OPERATIONS);
    try (NpuDevice device =
        new NpuDevice("1.0.0", NpuConfig.standard(), new NoCacheEngine(), leaving)) {
      DeviceException e =
          assertThrows(DeviceException.class, () -> device.supportedOperations(model()));
      assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, e.status(), e.getMessage());
      assertEquals(OPERATIONS, device.supportedOperations(model()).cardinality());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, OPERATIONS, OPERATIONS + 1, 3 * OPERATIONS + 20})
  void aDeviceThatIsAboutToLeaveStopsCompiling(int from) {
    AtomicInteger asked = new AtomicInteger();
    Host leaving =
        new Host(BurstSource.NONE, InstantSource.system(), () -> asked.incrementAndGet() >= from);
    NpuConfig settings = NpuConfig.standard().withSearch(1 << 10, true, 1);
    try (NpuDevice device = new NpuDevice("1.0.0", settings, new NoCacheEngine(), leaving)) {
      Device any = device;
      DeviceException e =
          assertThrows(DeviceException.class, () -> any.prepare(model(), PrepareConfig.DEFAULT));
      assertEquals(ErrorStatus.DEVICE_UNAVAILABLE, e.status(), e.getMessage());
      // It asks once more for the status.
      assertTrue(
          asked.get() <= from + OPERATIONS + 1, "it asked " + asked.get() + " times, not " + from);
    }
  }
}
