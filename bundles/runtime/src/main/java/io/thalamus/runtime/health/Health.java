// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.health;

import io.thalamus.runtime.registry.DeviceMonitor;
import io.thalamus.runtime.registry.RegisteredDevice;
import org.osgi.service.component.annotations.Component;

/** The source of the registry's monitors. Stateless. */
@Component(service = DeviceMonitor.Factory.class)
public final class Health implements DeviceMonitor.Factory {
  @Override
  public DeviceMonitor watch(RegisteredDevice device) {
    return new Quarantine(device);
  }
}
