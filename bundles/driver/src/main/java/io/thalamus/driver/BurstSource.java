// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.burst.BurstExecutor;
import io.thalamus.burst.BurstService;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.ErrorStatus;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;

/**
 * The means by which a device serves bursts. Thread-safe. Without a framework, a method reference
 * to {@link BurstService#serve(BurstConfig, BurstExecutor)} is one.
 */
@FunctionalInterface
public interface BurstSource {
  /** Refuses every burst: its client then has the requests executed one by one. */
  BurstSource NONE =
      (config, executor) -> {
        throw DeviceException.failure("there is no service by which this device serves bursts");
      };

  /**
   * Serves a burst until its context is closed.
   *
   * @throws DeviceException as {@link BurstService#serve(BurstConfig, BurstExecutor)} does
   */
  BurstContext serve(BurstConfig config, BurstExecutor executor) throws DeviceException;

  /**
   * Returns a source that gets the service of bursts for each burst and lets it go with it: nothing
   * is started before the first burst, and nothing stays after the last. As long as there is no
   * service, it is as {@link #NONE}.
   *
   * @param context of the device's bundle, for which the service serves
   */
  static BurstSource of(BundleContext context) {
    return (config, executor) -> {
      ServiceReference<BurstService> reference;
      BurstService service;
      try {
        reference = context.getServiceReference(BurstService.class);
        service = reference == null ? null : context.getService(reference);
      } catch (IllegalStateException e) {
        throw new DeviceException(
            ErrorStatus.DEVICE_UNAVAILABLE, "the bundle of the device has been stopped", e);
      }
      if (service == null) {
        return NONE.serve(config, executor);
      }
      try {
        BurstContext served = service.serve(config, executor);
        return new OwnedContext(served, () -> unget(context, reference));
      } catch (DeviceException | RuntimeException e) {
        unget(context, reference);
        throw e;
      }
    };
  }

  private static void unget(BundleContext context, ServiceReference<BurstService> reference) {
    try {
      context.ungetService(reference);
    } catch (IllegalStateException e) {
      // The bundle has been stopped: the framework has let the service go in its place.
      return;
    }
  }
}
