// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.junit.DeviceKit;

class KitTest extends DeviceKit {
  @Override
  protected Device newDevice() {
    return new NpuDevice("1.0.0", NpuConfig.DEFAULT.withSearch(0, false, 1));
  }

  @Override
  protected Certification certification(Device device) {
    return Certification.of(device).withReference(new CpuDevice("1.0.0"));
  }
}
