// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.certify.Exceptions;
import io.thalamus.tck.junit.DeviceKit;

class CpuPairTest extends DeviceKit {
  @Override
  protected Device newDevice() throws Exception {
    return cpu();
  }

  @Override
  protected Certification certification(Device device) {
    return super.certification(device)
        .with(
            Exceptions.NONE.andNever(
                "deadlines/the timeout of a loop by the kit's clock",
                "loops go by the clock of the process that computes"));
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
