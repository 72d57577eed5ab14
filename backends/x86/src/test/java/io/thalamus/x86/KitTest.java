// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.junit.DeviceKit;
import io.thalamus.x86.code.Machine;
import org.junit.jupiter.api.AfterEach;

class KitTest extends DeviceKit {
  private final QueueBurstService bursts = new QueueBurstService();

  @Override
  protected Device newDevice() {
    Machine machine = Machine.probe();
    assumeTrue(machine.longest().isPresent(), machine::reason);
    return new X86Device("1.0.0", machine, bursts::serve);
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
