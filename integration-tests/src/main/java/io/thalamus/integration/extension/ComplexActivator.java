// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.extension;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.operations.OperationExtension;
import java.util.Hashtable;
import java.util.Map;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;

/** Registers the extension and the device; the framework takes them back. */
public final class ComplexActivator implements BundleActivator {
  @Override
  public void start(BundleContext context) {
    context.registerService(OperationExtension.class, new ComplexExtension(), null);
    context.registerService(
        Device.class,
        new ComplexDevice(),
        new Hashtable<>(Map.of(DeviceDriver.NAMESPACE, "complex")));
  }

  @Override
  public void stop(BundleContext context) {}
}
