// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.cache.CacheEngine;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.npu.fault.FaultyDevice;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/**
 * The device as a service: an {@link NpuDevice} that can be hurt. Thread-safe. Owns the device,
 * which ends with it.
 */
@Component(name = NpuFaults.DEVICE, service = Device.class, configurationPid = "io.thalamus.npu")
@Designate(ocd = NpuSettings.class)
@DeviceDriver(
    device = "npu",
    type = "ACCELERATOR",
    modelCacheFiles = 1,
    dataCacheFiles = 1,
    memoryDomain = true,
    extensions = {},
    performance = {
      "TENSOR_FLOAT16 0.4 0.1",
      "TENSOR_QUANT8_ASYMM 0.1 0.02",
      "TENSOR_QUANT8_ASYMM_SIGNED 0.1 0.02"
    })
public final class NpuComponent extends FaultyDevice {
  private final NpuDevice device;

  /** Called by the component runtime. */
  @Activate
  public NpuComponent(
      BundleContext context,
      NpuSettings settings,
      @Reference NpuFaults faults,
      @Reference CacheEngine engine) {
    this(
        new NpuDevice(context.getBundle().getVersion().toString(), NpuConfig.of(settings), engine),
        faults);
  }

  private NpuComponent(NpuDevice device, NpuFaults faults) {
    super(device, faults.injector(), device::loseMemory);
    this.device = device;
  }

  @Override
  @Deactivate
  public void close() {
    super.close();
    device.close();
  }
}
