// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.doctor;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.shell.bundles.DeviceBundles;
import io.thalamus.shell.doctor.Diagnostics.Finding;
import io.thalamus.shell.doctor.Diagnostics.Verdict;
import java.util.Collection;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.namespace.NativeNamespace;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.framework.wiring.FrameworkWiring;

/** The check that the device that writes machine code serves, with the reason where it does not. */
final class MachineCodeCheck {
  private static final String SUBJECT = "machine code";
  private static final String ID = "x86";

  private MachineCodeCheck() {}

  static Finding of(NeuralNetworks networks, BundleContext context) {
    if (networks.devices().stream().anyMatch(device -> device.id().equals(ID))) {
      return new Finding(SUBJECT, Verdict.GOOD, "the device " + ID + " serves", "");
    }
    for (Bundle bundle : context.getBundles()) {
      if (("io.thalamus." + ID).equals(bundle.getSymbolicName())) {
        return new Finding(SUBJECT, Verdict.MISSING, reason(bundle, context), "");
      }
    }
    boolean isOffered = new DeviceBundles(context).available().contains(ID);
    return new Finding(
        SUBJECT,
        Verdict.MISSING,
        "the device " + ID + " is not here",
        isOffered ? "nn:install " + ID : "the distribution has none");
  }

  private static String reason(Bundle bundle, BundleContext context) {
    if (isForeign(bundle, context)) {
      return "the device " + ID + " is for Linux on x86-64 alone";
    }
    return unavailable(context);
  }

  private static String unavailable(BundleContext context) {
    try {
      Collection<ServiceReference<Object>> reasons =
          context.getServiceReferences(Object.class, "(" + DeviceDriver.UNAVAILABLE + "=*)");
      return reasons.isEmpty()
          ? "the device " + ID + " does not run"
          : reasons.iterator().next().getProperty(DeviceDriver.UNAVAILABLE).toString();
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns whether a bundle is made for other systems or processors. */
  static boolean isForeign(Bundle bundle, BundleContext context) {
    FrameworkWiring wiring =
        context.getBundle(Constants.SYSTEM_BUNDLE_LOCATION).adapt(FrameworkWiring.class);
    return bundle
        .adapt(BundleRevision.class)
        .getDeclaredRequirements(NativeNamespace.NATIVE_NAMESPACE)
        .stream()
        .anyMatch(requirement -> wiring.findProviders(requirement).isEmpty());
  }
}
