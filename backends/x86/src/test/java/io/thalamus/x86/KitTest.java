// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.cache.FileCacheEngine;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.junit.DeviceKit;
import io.thalamus.x86.code.Machine;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.io.TempDir;

@Order(1)
class KitTest extends DeviceKit {
  @TempDir Path storage;
  private final QueueBurstService bursts = new QueueBurstService();
  private FileCacheEngine engine;

  @Override
  protected Device newDevice() {
    Machine machine = Machine.probe();
    assumeTrue(machine.best().isPresent(), machine::reason);
    if (engine == null) {
      engine = new FileCacheEngine(storage, "io.thalamus.x86");
    }
    return new X86Device("1.0.0", machine, 0, engine, bursts::serve);
  }

  @AfterEach
  void close() {
    bursts.close();
    if (engine != null) {
      engine.close();
    }
  }

  @Override
  protected Certification certification(Device device) {
    return Certification.of(device).withReference(new CpuDevice("1.0.0"));
  }
}
