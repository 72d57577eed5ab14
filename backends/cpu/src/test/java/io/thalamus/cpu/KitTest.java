// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.hal.Device;
import io.thalamus.tck.junit.DeviceKit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;

@Order(Integer.MAX_VALUE)
class KitTest extends DeviceKit {
  private final QueueBurstService bursts = new QueueBurstService();

  @Override
  protected Device newDevice() {
    return new CpuDevice("1.0.0", bursts::serve);
  }

  @AfterEach
  void close() {
    bursts.close();
  }
}
