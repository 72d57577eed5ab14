// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.junit.DeviceKit;
import org.junit.jupiter.api.AfterEach;

class KitTest extends DeviceKit {
  private final QueueBurstService bursts = new QueueBurstService();

  @Override
  protected Device newDevice() {
    return new SimdDevice("1.0.0", 2, bursts::serve);
  }

  @AfterEach
  void close() {
    bursts.close();
  }

  @Override
  protected Certification certification(Device device) {
    return Certification.of(device).withReference(new CpuDevice("1.0.0"));
  }
}
