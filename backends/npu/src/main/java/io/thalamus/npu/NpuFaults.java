// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.npu.fault.FaultInjector;
import io.thalamus.npu.fault.Presence;
import org.osgi.service.component.ComponentContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;

/**
 * The injector of the bundle's device. Thread-safe. Active as long as the bundle is, so that rules
 * and counts survive a lost device.
 */
@Component(service = NpuFaults.class, immediate = true)
public final class NpuFaults {
  /** The component that is the device. */
  static final String DEVICE = "io.thalamus.npu.device";

  private final FaultInjector injector;

  /** Called by the component runtime, through which a lost device goes and comes back. */
  @Activate
  public NpuFaults(ComponentContext context) {
    Presence presence =
        new Presence() {
          @Override
          public void leave() {
            context.disableComponent(DEVICE);
          }

          @Override
          public void comeBack() {
            context.enableComponent(DEVICE);
          }
        };
    injector = new FaultInjector(presence, "thalamus-npu-faults");
  }

  /** Hurts the device. */
  public FaultInjector injector() {
    return injector;
  }

  @Deactivate
  void close() {
    injector.close();
  }
}
