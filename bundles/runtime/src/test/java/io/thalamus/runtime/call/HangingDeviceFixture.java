// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.DeviceDescription;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.HangingDevice;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.registry.DeviceSettings;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;

/** A runtime whose clock the test moves, and a device that hangs when the test says so. */
abstract class HangingDeviceFixture {
  static final long PATIENCE_SECONDS = 60;
  static final DeviceSettings SETTINGS = TestRuntime.SETTINGS;

  final SteppedTime time = new SteppedTime();
  final LimitedDevice cpu = LimitedDevice.cpu();
  final LimitedDevice inner = LimitedDevice.floats("npu", 0.5);
  final HangingDevice npu = new HangingDevice(inner);
  final TestRuntime runtime = TestRuntime.stepped(time, SETTINGS, cpu);
  final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void closeAll() throws Exception {
    npu.letGo();
    runtime.close();
    threads.shutdownNow();
    assertTrue(threads.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS));
    Eventually.that("all is closed", () -> cpu.open() == 0 && inner.open() == 0);
    Eventually.that("all bursts are closed", () -> runtime.burstService.open() == 0);
  }

  DeviceDescription description() {
    return runtime.networks().devices().stream()
        .filter(device -> device.id().equals("npu"))
        .findFirst()
        .orElseThrow();
  }

  <T> Future<T> start(Callable<T> task) {
    return threads.submit(task);
  }

  static <T> T get(Future<T> future) throws Exception {
    return future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }
}
