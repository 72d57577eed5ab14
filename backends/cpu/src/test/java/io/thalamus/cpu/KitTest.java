// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.hal.Device;
import io.thalamus.tck.junit.DeviceKit;

class KitTest extends DeviceKit {
  @Override
  protected Device newDevice() {
    return new CpuDevice("1.0.0");
  }
}
