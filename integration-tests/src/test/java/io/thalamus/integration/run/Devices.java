// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.integration.proof.Settings;
import io.thalamus.npu.NpuConfig;
import io.thalamus.npu.NpuDevice;
import io.thalamus.simd.SimdDevice;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/** The devices that a proof can be made on without a framework, by their short names. */
final class Devices {
  private static final Map<String, Supplier<Device>> ALL =
      new TreeMap<>(
          Map.of(
              "cpu",
              () -> new CpuDevice("0.1.0"),
              "simd",
              () -> new SimdDevice("0.1.0", 0),
              "npu",
              () -> new NpuDevice("0.1.0", NpuConfig.DEFAULT)));

  private Devices() {}

  static Device named(String name) throws Settings.UnknownOptionException {
    Supplier<Device> device = ALL.get(name);
    if (device == null) {
      throw new Settings.UnknownOptionException(
          "no device " + name + ", but " + String.join(", ", ALL.keySet()));
    }
    return device.get();
  }
}
