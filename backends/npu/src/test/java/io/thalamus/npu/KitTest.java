// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.cache.FileCacheEngine;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.junit.DeviceKit;
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
    if (engine == null) {
      engine = new FileCacheEngine(storage, "io.thalamus.npu");
    }
    NpuConfig config = NpuConfig.standard().withSearch(0, false, 1);
    return new NpuDevice("1.0.0", config, engine, bursts::serve);
  }

  @AfterEach
  void close() {
    bursts.close();
    engine.close();
  }

  @Override
  protected Certification certification(Device device) {
    return Certification.of(device).withReference(new CpuDevice("1.0.0"));
  }
}
