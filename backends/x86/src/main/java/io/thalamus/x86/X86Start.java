// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.hal.DeviceDriver;
import io.thalamus.x86.code.Machine;
import java.lang.System.Logger.Level;
import java.util.Hashtable;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/**
 * Registers this machine, which the device waits for, where it can run it. Elsewhere it registers
 * itself with a property that says in one line why there is no device, for whoever shows that to
 * people. The framework unregisters either when the bundle stops.
 */
@Component(
    service = {},
    immediate = true)
public final class X86Start {
  private static final System.Logger LOG = System.getLogger(X86Start.class.getPackageName());

  /** Returns one line that says why there is no device on a machine that cannot run it. */
  public static String problem(Machine machine) {
    return "the device x86 is not available: " + machine.reason();
  }

  /** Called by the component runtime. */
  @Activate
  public X86Start(BundleContext context) {
    Machine machine = Machine.probe();
    if (machine.best().isPresent()) {
      // Not enableComponent: threads that it leaves would hold the bundle's classes for a minute.
      context.registerService(Machine.class, machine, null);
      return;
    }
    String reason = problem(machine);
    // Not louder: the device is started wherever it might run, and others compute all the same.
    LOG.log(Level.DEBUG, reason);
    Hashtable<String, Object> properties = new Hashtable<>();
    properties.put(DeviceDriver.UNAVAILABLE, reason);
    context.registerService(X86Start.class, this, properties);
  }
}
