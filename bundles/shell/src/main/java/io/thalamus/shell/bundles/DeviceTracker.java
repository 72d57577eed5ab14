// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.CommandException;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import java.util.List;
import org.osgi.framework.Bundle;

/** Waits for the devices of bundles that were started. Stateless. */
public final class DeviceTracker {
  private static final long PATIENCE_MILLIS = 5_000;

  /** For a device whose process starts first. */
  private static final long ISOLATED_PATIENCE_MILLIS = 60_000;

  private static final long PAUSE_MILLIS = 10;

  private DeviceTracker() {}

  /**
   * Waits until a device of a bundle is here: a bundle is active before its components are, mostly
   * by nothing, seldom by a moment.
   *
   * @throws CommandException where the device is refused, or does not come
   */
  public static void await(NeuralNetworks networks, Bundle bundle) throws InterruptedException {
    List<String> devices = DeviceBundles.devices(bundle);
    boolean isIsolated = bundle.getLocation().startsWith(DeviceDriver.ISOLATED_LOCATION);
    long patience = isIsolated ? ISOLATED_PATIENCE_MILLIS : PATIENCE_MILLIS;
    long end = System.nanoTime() + patience * 1_000_000;
    while (System.nanoTime() - end < 0) {
      for (DeviceDescription device : networks.devices()) {
        if (devices.contains(device.id()) && isHere(device)) {
          if (device.state() == State.REFUSED) {
            throw new CommandException(
                bundle.getSymbolicName()
                    + " is active, but its device is refused: "
                    + device.reason());
          }
          return;
        }
      }
      Thread.sleep(PAUSE_MILLIS);
    }
    throw new CommandException(
        bundle.getSymbolicName()
            + " is active, but its device "
            + String.join(", ", devices)
            + " does not come; "
            + missing(bundle));
  }

  /** Returns what a device needs that its bundle has not, or where to look for it. */
  static String missing(Bundle bundle) {
    if (bundle.getHeaders("").get("Service-Component") == null) {
      return "no component makes it: annotate its class with @Component(service = Device.class)";
    }
    try {
      if (bundle.loadClass(Device.class.getName()) != Device.class) {
        return "the bundle has the package "
            + Device.class.getPackageName()
            + " of its own, which it must import";
      }
    } catch (ClassNotFoundException e) {
      // Its component offers something else.
    }
    return "scr:list shows which component waits for what";
  }

  private static boolean isHere(DeviceDescription device) {
    return device.state() != State.LEAVING && device.state() != State.LEAKED;
  }
}
