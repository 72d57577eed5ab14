// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.driver.TableDevice;
import io.thalamus.hal.Device;
import io.thalamus.integration.proof.Settings;
import io.thalamus.npu.NpuConfig;
import io.thalamus.npu.NpuDevice;
import io.thalamus.simd.SimdDevice;
import io.thalamus.x86.X86Device;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/** The devices that a proof can be made on without a framework, by their short names. */
final class Devices {
  private static final Map<String, Supplier<TableDevice>> ALL =
      new TreeMap<>(
          Map.of(
              "cpu",
              () -> new CpuDevice("0.1.0"),
              "simd",
              () -> new SimdDevice("0.1.0", 0),
              "npu",
              () -> new NpuDevice("0.1.0", NpuConfig.standard()),
              "x86",
              () -> new X86Device("0.1.0")));

  private Devices() {}

  /** All of them, new, by their short names, the reference first. */
  static Map<String, TableDevice> all() {
    Map<String, TableDevice> devices = new LinkedHashMap<>();
    ALL.forEach((name, device) -> devices.put(name, device.get()));
    return devices;
  }

  static Device named(String name) throws Settings.UnknownOptionException {
    Supplier<TableDevice> device = ALL.get(name);
    if (device == null) {
      throw new Settings.UnknownOptionException(
          "no device " + name + ", but " + String.join(", ", ALL.keySet()));
    }
    return device.get();
  }
}
