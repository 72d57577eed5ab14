// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import io.thalamus.integration.device.SpareActivator;
import io.thalamus.model.DeviceType;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;

/**
 * A small device bundle, made when it is needed: it holds the package {@code device} and its own
 * facts. Immutable.
 *
 * @param name short name of the device, and the last word of the bundle's symbolic name
 * @param version of the bundle and of the device
 * @param type of the device: any but CPU is called in threads of the runtime
 * @param operations names of those that it claims; all where there are none
 */
public record SpareBundle(String name, String version, DeviceType type, List<String> operations) {
  private static final String CODE = "io/thalamus/integration/device";
  private static final String IMPORTS =
      "io.thalamus.hal;version=\"[1.0,2)\",io.thalamus.model;version=\"[1.0,2)\","
          + "io.thalamus.memory;version=\"[1.0,2)\",org.osgi.framework";

  /** A device that claims everything, and is called in the threads of its callers. */
  public static SpareBundle named(String name) {
    return new SpareBundle(name, "1.0.0", DeviceType.CPU, List.of());
  }

  /** The same in another version. */
  public SpareBundle withVersion(String other) {
    return new SpareBundle(name, other, type, operations);
  }

  /** The same, of another type. */
  public SpareBundle withType(DeviceType other) {
    return new SpareBundle(name, version, other, operations);
  }

  /** The same, claiming only some operations. */
  public SpareBundle claiming(String... names) {
    return new SpareBundle(name, version, type, List.of(names));
  }

  /** Installs and starts it. */
  public Bundle install(BundleContext context) throws BundleException, IOException {
    return install(context, "test:" + name + ":" + System.nanoTime());
  }

  /** Installs and starts it under a location. */
  public Bundle install(BundleContext context, String location)
      throws BundleException, IOException {
    Bundle bundle = context.installBundle(location, jar());
    bundle.start();
    return bundle;
  }

  /** The bundle's file. */
  public InputStream jar() throws IOException {
    return BundleFile.of(
        CODE,
        Map.of(
            Constants.BUNDLE_SYMBOLICNAME,
            "io.thalamus.integration." + name,
            Constants.BUNDLE_VERSION,
            version,
            Constants.BUNDLE_ACTIVATOR,
            SpareActivator.class.getName(),
            Constants.IMPORT_PACKAGE,
            IMPORTS,
            Constants.PROVIDE_CAPABILITY,
            "thalamus.device;thalamus.device=\"" + name + "\"",
            SpareActivator.NAME,
            name,
            SpareActivator.TYPE,
            type.name(),
            SpareActivator.OPERATIONS,
            String.join(" ", operations) + " "));
  }
}
