// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.Device;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Who watches a device. Immutable.
 *
 * @param threads null where nobody does
 */
record Watch(
    CallThreads threads,
    Timekeeper time,
    Supplier<HealthSettings> source,
    Consumer<RegisteredDevice> onQuarantine,
    Consumer<RegisteredDevice> onReturn) {
  static Watch none() {
    return new Watch(
        null, new SystemTime(), () -> HealthSettings.DEFAULT, device -> {}, device -> {});
  }

  boolean isOn() {
    return threads != null;
  }

  HealthSettings settings() {
    return source.get();
  }

  DeviceCalls calls(Device device, Consumer<GuardedCall<?>> onHang) {
    return new DeviceCalls(threads, time, DeviceCalls.classLoader(device), onHang);
  }
}
