// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.device;

import java.util.function.BooleanSupplier;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;

/**
 * A gate that every execution of a device has to pass: a service of a test, which may hold it up,
 * or say false to have it fail. Without one all pass. Thread-safe.
 */
public final class Gate {
  /** The service property with the device's short name. */
  public static final String DEVICE = "thalamus.spare.gate";

  private final BundleContext context;
  private final String device;

  Gate(BundleContext context, String device) {
    this.context = context;
    this.device = device;
  }

  boolean pass() {
    try {
      for (ServiceReference<BooleanSupplier> reference :
          context.getServiceReferences(BooleanSupplier.class, "(" + DEVICE + "=" + device + ")")) {
        BooleanSupplier gate = context.getService(reference);
        if (gate != null && !gate.getAsBoolean()) {
          return false;
        }
      }
      return true;
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
  }
}
