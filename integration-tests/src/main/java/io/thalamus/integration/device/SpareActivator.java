// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.device;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.model.DeviceType;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceRegistration;

/** Registers a {@link SpareDevice} as the headers of its bundle describe it. */
public final class SpareActivator implements BundleActivator {
  /** The header with the device's short name. */
  public static final String NAME = "Spare-Name";

  /** The header with the device's type. */
  public static final String TYPE = "Spare-Type";

  /** The header with the names of the operations that it claims; all where it is empty. */
  public static final String OPERATIONS = "Spare-Operations";

  private ServiceRegistration<Device> registration;
  private SpareDevice device;

  @Override
  public void start(BundleContext context) throws InvalidSyntaxException {
    Bundle bundle = context.getBundle();
    String name = bundle.getHeaders().get(NAME);
    List<String> operations = new ArrayList<>();
    for (String word : bundle.getHeaders().get(OPERATIONS).split(" ")) {
      if (!word.isBlank()) {
        operations.add(word);
      }
    }
    device =
        new SpareDevice(
            name,
            bundle.getVersion().toString(),
            DeviceType.valueOf(bundle.getHeaders().get(TYPE)),
            operations,
            reference(context),
            new Gate(context, name));
    Dictionary<String, Object> properties = new Hashtable<>();
    properties.put(DeviceDriver.NAMESPACE, name);
    registration = context.registerService(Device.class, device, properties);
  }

  private static Device reference(BundleContext context) throws InvalidSyntaxException {
    return context
        .getServiceReferences(Device.class, "(" + DeviceDriver.NAMESPACE + "=cpu)")
        .stream()
        .findFirst()
        .map(context::getService)
        .orElseThrow(() -> new IllegalStateException("the CPU device is not here"));
  }

  @Override
  public void stop(BundleContext context) {
    registration.unregister(); // the runtime waits here for what still runs
    device.close();
  }
}
