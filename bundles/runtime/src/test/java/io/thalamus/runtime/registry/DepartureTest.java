// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.health.Health;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Departures, and the calls that they wait for. */
class DepartureTest {
  private static final long PATIENCE_SECONDS = 60;

  /** Long enough for a departure that does not wait to be over before. */
  private static final long SLOW_MILLIS = 100;

  /** The first model that is closed has another thread close the second one, and that is slow. */
  private static final class SlowlyClosing implements Device {
    private final LimitedDevice inner = LimitedDevice.all("slow", 0.5);
    private final List<DevicePreparedModel> handles = new CopyOnWriteArrayList<>();
    private final AtomicBoolean isFirst = new AtomicBoolean(true);
    private final CountDownLatch second = new CountDownLatch(1);
    private final AtomicReference<Thread> other = new AtomicReference<>();

    @Override
    public DeviceInfo info() {
      return inner.info();
    }

    @Override
    public BitSet supportedOperations(Model model) throws DeviceException {
      return inner.supportedOperations(model);
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      PreparedModel prepared = inner.prepare(model, config);
      return new PreparedModel() {
        @Override
        public ExecutionResult execute(Request request, ExecutionConfig executionConfig) {
          return prepared.execute(request, executionConfig);
        }

        @Override
        public void close() {
          pass();
          prepared.close();
        }
      };
    }

    private void pass() {
      try {
        if (isFirst.getAndSet(false)) {
          // Which of the two is the first is open; closing it again does nothing.
          Thread thread =
              new Thread(() -> handles.forEach(DevicePreparedModel::close), "test-closer");
          other.set(thread);
          thread.start();
          assertTrue(second.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
        } else {
          second.countDown();
          Thread.sleep(SLOW_MILLIS);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Test
  void whatAnotherThreadIsClosingIsClosedToo() throws Exception {
    SlowlyClosing device = new SlowlyClosing();
    try (DeviceRegistry registry = new DeviceRegistry(TestRuntime.SETTINGS, new Health())) {
      registry.addDevice(device, Map.of());
      RegisteredDevice registered = registry.devices().getFirst();
      for (int i = 0; i < 2; i++) {
        device.handles.add(
            registered.prepare(Graphs.twice(2, 2), PrepareConfig.DEFAULT, Admission.WHILE_SERVING));
      }
      registry.removeDevice(device);
      assertEquals(0, device.inner.open());
      device.other.get().join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
    }
  }
}
