// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos.service;

import io.thalamus.chaos.FaultInjector;
import io.thalamus.chaos.FaultyDevice;
import io.thalamus.chaos.ServiceSwitch;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import java.lang.System.Logger.Level;
import java.util.Dictionary;
import java.util.Hashtable;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;

/**
 * One device that is offered through an injector. Thread-safe. Holds the device's service while
 * that is there, and registers the {@link FaultyDevice} in front of it in the name of the device's
 * own bundle, so that it leaves with that bundle and counts as its code.
 *
 * <p>The framework is never called under the lock: it has locks of its own for each bundle.
 */
final class FaultyService implements ServiceSwitch, AutoCloseable {
  /** The property of the service that is offered; the framework's own begin alike. */
  private static final String MARK = "service.thalamus.chaos";

  private static final System.Logger LOG = System.getLogger(FaultyService.class.getPackageName());

  private final BundleContext context;
  private final String id;
  private final Bundle bundle;
  private final ServiceReference<?> before;
  private final FaultInjector injector;
  private final Object lock = new Object();

  /** Null while the device's own service is not there. */
  private ServiceReference<Device> original;

  /** Null while nothing is offered. */
  private Offer offer;

  private boolean isAway;
  private boolean isClosed;

  /** A device in front of the original; without a registration while that is under way. */
  private static final class Offer {
    private final FaultyDevice device;
    private final ServiceReference<Device> original;
    private ServiceRegistration<Device> registration;

    Offer(FaultyDevice device, ServiceReference<Device> original) {
      this.device = device;
      this.original = original;
    }
  }

  /**
   * A device that is not hidden yet.
   *
   * @param before its service, which stays visible until it leaves
   */
  FaultyService(BundleContext context, String id, ServiceReference<Device> before) {
    this.context = context;
    this.id = id;
    this.bundle = before.getBundle();
    this.before = before;
    this.injector = new FaultInjector(this, "thalamus-chaos-" + id);
  }

  FaultInjector injector() {
    return injector;
  }

  Bundle bundle() {
    return bundle;
  }

  /** Returns whether a service is the device itself, which only this bundle is to see. */
  boolean hides(ServiceReference<?> reference) {
    return bundle.equals(reference.getBundle())
        && id.equals(reference.getProperty(DeviceDriver.NAMESPACE))
        && reference.getProperty(MARK) == null
        && !reference.equals(before);
  }

  /** Offers a device whose own service has come. */
  void arrived(ServiceReference<Device> reference) {
    synchronized (lock) {
      original = reference;
    }
    offer();
  }

  /** Withdraws a device whose own service leaves. */
  void departing(ServiceReference<?> reference) {
    synchronized (lock) {
      if (!reference.equals(original)) {
        return;
      }
      original = null;
    }
    withdraw();
  }

  @Override
  public void leave() {
    synchronized (lock) {
      isAway = true;
    }
    withdraw();
  }

  @Override
  public void comeBack() {
    synchronized (lock) {
      isAway = false;
    }
    offer();
  }

  private void offer() {
    ServiceReference<Device> reference;
    synchronized (lock) {
      reference = original;
      if (reference == null || offer != null || isAway || isClosed) {
        return;
      }
    }
    Device within = context.getService(reference);
    BundleContext owner = bundle.getBundleContext();
    if (within == null || owner == null) {
      return;
    }
    Offer fresh;
    synchronized (lock) {
      if (!reference.equals(original) || offer != null || isAway || isClosed) {
        return;
      }
      fresh = new Offer(new FaultyDevice(within, injector), reference);
      offer = fresh;
    }
    ServiceRegistration<Device> registration;
    try {
      registration = owner.registerService(Device.class, fresh.device, properties(reference));
    } catch (IllegalStateException e) {
      LOG.log(Level.DEBUG, "{0} left while it was to be offered: {1}", id, e.getMessage());
      withdraw();
      return;
    }
    boolean isStale;
    synchronized (lock) {
      fresh.registration = registration;
      isStale = offer != fresh;
    }
    if (isStale) {
      end(fresh);
    }
  }

  private static Dictionary<String, Object> properties(ServiceReference<Device> reference) {
    Dictionary<String, Object> properties = new Hashtable<>();
    for (String name : reference.getPropertyKeys()) {
      properties.put(name, reference.getProperty(name));
    }
    properties.put(MARK, true);
    return properties;
  }

  private void withdraw() {
    Offer old;
    synchronized (lock) {
      old = offer;
      offer = null;
    }
    if (old != null) {
      end(old);
    }
  }

  /** Ends an offer; the thread that is registering it ends it again once it is registered. */
  private void end(Offer old) {
    ServiceRegistration<Device> registration;
    synchronized (lock) {
      registration = old.registration;
    }
    try {
      if (registration != null) {
        registration.unregister();
      }
    } catch (IllegalStateException e) {
      LOG.log(Level.DEBUG, "{0} was withdrawn by its bundle: {1}", id, e.getMessage());
    }
    old.device.close();
    context.ungetService(old.original);
  }

  /** Withdraws the device for good, and frees every call that stands still. */
  @Override
  public void close() {
    synchronized (lock) {
      isClosed = true;
    }
    withdraw();
    injector.close();
  }
}
