// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import java.util.Map;
import java.util.TreeMap;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;

/**
 * The process of an isolated device. Immutable.
 *
 * @param pid its number
 * @param memory how memory crosses, for people
 */
public record IsolatedProcess(long pid, String memory) {
  /** Returns the processes of the devices that are here, by the short names of these. */
  public static Map<String, IsolatedProcess> all(BundleContext context) {
    Map<String, IsolatedProcess> processes = new TreeMap<>();
    try {
      for (ServiceReference<Device> reference :
          context.getServiceReferences(Device.class, "(" + DeviceDriver.PROCESS + "=*)")) {
        processes.put(
            String.valueOf(reference.getProperty(DeviceDriver.NAMESPACE)),
            new IsolatedProcess(
                (Long) reference.getProperty(DeviceDriver.PROCESS),
                String.valueOf(reference.getProperty(DeviceDriver.PROCESS_MEMORY))));
      }
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e); // the filter is a constant
    }
    return processes;
  }
}
