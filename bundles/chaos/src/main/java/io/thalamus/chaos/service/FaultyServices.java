// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos.service;

import io.thalamus.chaos.FaultInjector;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleEvent;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceEvent;
import org.osgi.framework.ServiceListener;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;
import org.osgi.framework.SynchronousBundleListener;
import org.osgi.framework.hooks.service.EventListenerHook;
import org.osgi.framework.hooks.service.FindHook;
import org.osgi.framework.hooks.service.ListenerHook.ListenerInfo;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;

/**
 * The devices of this framework that are offered through injectors. Thread-safe.
 *
 * <p>A device is taken over when it is first asked for. Its users must release it then, so its
 * bundle is stopped and started once: the device leaves, and comes back hidden behind its {@link
 * FaultyService}. That ends when the bundle stops, or when this component does, which restarts the
 * bundle again. There are no hooks and no listeners before the first device is taken over.
 */
@Component(service = Injectors.class, immediate = true)
public final class FaultyServices implements Injectors {
  private static final System.Logger LOG = System.getLogger(FaultyServices.class.getPackageName());
  private static final String DEVICES = "(" + DeviceDriver.NAMESPACE + "=*)";

  private final BundleContext context;
  private final Map<String, FaultyService> services = new ConcurrentHashMap<>();
  private final ServiceListener devices = this::changed;
  private final SynchronousBundleListener bundles = this::changed;
  private List<ServiceRegistration<?>> hooks = List.of();
  private volatile Bundle restarting;

  /** Called by the component runtime. */
  @Activate
  public FaultyServices(BundleContext context) {
    this.context = context;
  }

  @Override
  public Optional<FaultInjector> find(String id) {
    return Optional.ofNullable(services.get(id)).map(FaultyService::injector);
  }

  @Override
  public List<String> devices() {
    return List.copyOf(references().keySet());
  }

  private SortedMap<String, ServiceReference<Device>> references() {
    SortedMap<String, ServiceReference<Device>> references = new TreeMap<>();
    try {
      for (ServiceReference<Device> reference :
          context.getServiceReferences(Device.class, DEVICES)) {
        String id = reference.getProperty(DeviceDriver.NAMESPACE).toString();
        // The one that the framework would choose.
        references.merge(id, reference, (a, b) -> a.compareTo(b) >= 0 ? a : b);
      }
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
    return references;
  }

  @Override
  public synchronized FaultInjector takeOver(String id) throws BundleException {
    FaultyService known = services.get(id);
    if (known != null) {
      return known.injector();
    }
    ServiceReference<Device> reference = references().get(id);
    Bundle bundle = reference == null ? null : reference.getBundle();
    if (bundle == null) {
      throw new NoSuchElementException("no device " + id);
    }
    if (bundle.getBundleId() == Constants.SYSTEM_BUNDLE_ID) {
      throw new BundleException(id + " belongs to the framework itself, which cannot be restarted");
    }
    FaultyService service = new FaultyService(context, id, reference);
    if (hooks.isEmpty()) {
      install();
    }
    services.put(id, service);
    boolean isTaken = false;
    try {
      restart(bundle);
      isTaken = true;
    } finally {
      if (!isTaken) {
        release(id, service);
      }
    }
    return service.injector();
  }

  private void restart(Bundle bundle) throws BundleException {
    restarting = bundle;
    try {
      // Transiently: whether the bundle is started with the framework is its owner's affair.
      bundle.stop(Bundle.STOP_TRANSIENT);
      bundle.start(Bundle.START_TRANSIENT);
    } finally {
      restarting = null;
    }
  }

  private void install() {
    context.addBundleListener(bundles);
    try {
      context.addServiceListener(
          devices,
          "(&(" + Constants.OBJECTCLASS + "=" + Device.class.getName() + ")" + DEVICES + ")");
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
    FindHook find = (asking, name, filter, all, found) -> hide(asking, found);
    EventListenerHook events = this::hide;
    hooks =
        List.of(
            context.registerService(FindHook.class, find, null),
            context.registerService(EventListenerHook.class, events, null));
  }

  private void uninstall() {
    hooks.forEach(ServiceRegistration::unregister);
    hooks = List.of();
    context.removeServiceListener(devices);
    context.removeBundleListener(bundles);
  }

  private boolean isHidden(ServiceReference<?> reference) {
    return services.values().stream().anyMatch(service -> service.hides(reference));
  }

  private boolean seesAll(BundleContext asking) {
    return asking == context
        || asking == context.getBundle(Constants.SYSTEM_BUNDLE_ID).getBundleContext();
  }

  private void hide(BundleContext asking, Collection<ServiceReference<?>> found) {
    if (!seesAll(asking)) {
      found.removeIf(this::isHidden);
    }
  }

  private void hide(ServiceEvent event, Map<BundleContext, Collection<ListenerInfo>> listeners) {
    if (isHidden(event.getServiceReference())) {
      listeners.keySet().removeIf(asking -> !seesAll(asking));
    }
  }

  private void changed(ServiceEvent event) {
    ServiceReference<?> reference = event.getServiceReference();
    services
        .values()
        .forEach(
            service -> {
              if (event.getType() == ServiceEvent.UNREGISTERING) {
                service.departing(reference);
              } else if (event.getType() == ServiceEvent.REGISTERED && service.hides(reference)) {
                service.arrived(device(reference));
              }
            });
  }

  /** Casts a reference that the listener's filter has let pass. */
  @SuppressWarnings("unchecked")
  private static ServiceReference<Device> device(ServiceReference<?> reference) {
    return (ServiceReference<Device>) reference;
  }

  private void changed(BundleEvent event) {
    if (event.getType() == BundleEvent.STOPPING && !event.getBundle().equals(restarting)) {
      services.forEach(
          (id, service) -> {
            if (event.getBundle().equals(service.bundle())) {
              release(id, service);
            }
          });
    }
  }

  private void release(String id, FaultyService service) {
    if (services.remove(id, service)) {
      service.close();
    }
  }

  /** Gives all devices back, as they were. */
  @Deactivate
  synchronized void close() {
    if (hooks.isEmpty()) {
      return;
    }
    uninstall();
    boolean isLast = context.getBundle(Constants.SYSTEM_BUNDLE_ID).getState() == Bundle.STOPPING;
    services.forEach(
        (id, service) -> {
          release(id, service);
          if (!isLast && service.bundle().getState() == Bundle.ACTIVE) {
            try {
              restart(service.bundle());
            } catch (BundleException e) {
              LOG.log(Level.WARNING, "device " + id + " does not come back: restart its bundle", e);
            }
          }
        });
  }
}
