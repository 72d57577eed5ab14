// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.tck.junit.DeviceKit;

class CpuPairTest extends DeviceKit {
  @Override
  protected Device newDevice() throws Exception {
    return cpu();
  }

  static Pair cpu() throws Exception {
    QueueBurstService bursts = new QueueBurstService();
    CpuDevice cpu = new CpuDevice("1.0.0", bursts::serve);
    return Pair.of(
        cpu,
        () -> {
          bursts.close();
          cpu.close();
        });
  }
}
