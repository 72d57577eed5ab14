// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import io.thalamus.runtime.registry.DeviceListener;
import io.thalamus.runtime.registry.DeviceRegistry;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.condition.Condition;

/**
 * The condition {@value #ID}: a service as long as at least one device serves, so that other
 * bundles can wait for it as for anything else. Thread-safe. Its property {@value #DEVICES} has the
 * ids of the devices that serve, and changes with them.
 */
@Component(
    service = {},
    immediate = true)
public final class Readiness implements DeviceListener {
  /** The id of the condition. */
  public static final String ID = "thalamus.ready";

  /** The property with the ids of the devices that serve. */
  public static final String DEVICES = "thalamus.devices";

  private final DeviceRegistry registry;
  private final BundleContext context;
  private ServiceRegistration<Condition> registration;
  private boolean closed;

  @Activate
  public Readiness(@Reference DeviceRegistry registry, BundleContext context) {
    this.registry = registry;
    this.context = context;
    registry.addListener(this);
    update();
  }

  @Override
  public void arrived(RegisteredDevice device) {
    update();
  }

  @Override
  public void departing(RegisteredDevice device) {
    update();
  }

  private synchronized void update() {
    if (closed) {
      return;
    }
    List<String> devices = registry.devices().stream().map(RegisteredDevice::id).toList();
    if (devices.isEmpty()) {
      withdraw();
      return;
    }
    Dictionary<String, Object> properties = new Hashtable<>();
    properties.put(Condition.CONDITION_ID, ID);
    properties.put(DEVICES, devices.toArray(String[]::new));
    if (registration == null) {
      registration = context.registerService(Condition.class, Condition.INSTANCE, properties);
    } else {
      registration.setProperties(properties);
    }
  }

  private void withdraw() {
    if (registration != null) {
      registration.unregister();
      registration = null;
    }
  }

  @Deactivate
  void close() {
    registry.removeListener(this);
    synchronized (this) {
      closed = true;
      withdraw();
    }
  }
}
