// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.burst.BurstService;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.isolation.wire.Joining;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleEvent;
import org.osgi.framework.BundleException;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;
import org.osgi.framework.SynchronousBundleListener;
import org.osgi.framework.hooks.bundle.EventHook;
import org.osgi.framework.hooks.bundle.FindHook;
import org.osgi.framework.wiring.BundleCapability;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.service.cm.ConfigurationListener;

/**
 * The bundles of this framework whose devices run in processes of their own. Thread-safe. Owns
 * these processes until it is closed.
 *
 * <p>Such a bundle is active as any other, but the component runtime does not see it: bundle hooks
 * hide it. There are no hooks before there is such a bundle. A bundle that was started before it
 * was to be isolated, or is no longer to be, is stopped and started once.
 */
final class IsolatedBundles implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(IsolatedBundles.class.getPackageName());

  private static final Duration LONGEST_RESTART = Duration.ofSeconds(30);

  private final BundleContext context;
  private final Consumer<String> log;
  private final SynchronousBundleListener listener = this::changed;
  private final Map<Bundle, IsolatedBundle> running = new ConcurrentHashMap<>();
  private final Object lock = new Object();
  private List<ServiceRegistration<?>> hooks = List.of();
  private volatile Set<String> devices = Set.of();
  private volatile IsolatedBundle.Plan plan;
  private volatile JavaCommand command;
  private volatile boolean isClosed;
  private Thread restarts;

  /** Null before it is needed. */
  private ServiceReference<BurstService> burstReference;

  /**
   * Isolates nothing until the first {@link #set}.
   *
   * @param log gets what processes print, line by line
   */
  IsolatedBundles(BundleContext context, Consumer<String> log) {
    this.context = context;
    this.log = log;
    context.addBundleListener(listener);
  }

  /** Takes over settings, and restarts in the background what they change. */
  void set(IsolationSettings settings) {
    devices = Set.of(settings.devices());
    plan = IsolatedBundle.Plan.of(settings);
    command = JavaCommand.of(context, List.of(settings.javaOptions()));
    if (!devices.isEmpty() || Arrays.stream(context.getBundles()).anyMatch(this::isIsolated)) {
      hide();
    }
    restartMisplaced();
  }

  /** Restarts in the background what runs otherwise than it should. */
  private void restartMisplaced() {
    List<Bundle> misplaced = Arrays.stream(context.getBundles()).filter(this::isMisplaced).toList();
    if (misplaced.isEmpty()) {
      return;
    }
    synchronized (lock) {
      Thread before = restarts;
      restarts =
          Thread.ofPlatform()
              .daemon()
              .name("thalamus-isolation")
              .start(
                  () -> {
                    join(before);
                    misplaced.forEach(this::restart);
                  });
    }
  }

  private boolean isMisplaced(Bundle bundle) {
    if (bundle.getState() != Bundle.ACTIVE) {
      return false;
    }
    IsolatedBundle isolated = running.get(bundle);
    return isolated == null || !isIsolated(bundle)
        ? isIsolated(bundle) || isolated != null
        : !isolated.isAs(command, plan, DeviceConfigurations.of(context, bundle));
  }

  private boolean isIsolated(Bundle bundle) {
    List<String> names = names(bundle);
    return !names.isEmpty()
        && (bundle.getLocation().startsWith(DeviceDriver.ISOLATED_LOCATION)
            || names.stream().anyMatch(devices::contains));
  }

  /** Returns the short names of the devices that a bundle says it brings. */
  private static List<String> names(Bundle bundle) {
    BundleRevision revision = bundle.adapt(BundleRevision.class);
    return revision == null
        ? List.of()
        : revision.getDeclaredCapabilities(DeviceDriver.NAMESPACE).stream()
            .map(BundleCapability::getAttributes)
            .map(attributes -> String.valueOf(attributes.get(DeviceDriver.NAMESPACE)))
            .toList();
  }

  private void restart(Bundle bundle) {
    if (isClosed || !isMisplaced(bundle)) {
      return;
    }
    try {
      // Transiently: whether the bundle is started with the framework is its owner's affair.
      bundle.stop(Bundle.STOP_TRANSIENT);
      bundle.start(Bundle.START_TRANSIENT);
    } catch (BundleException e) {
      LOG.log(Level.WARNING, bundle.getSymbolicName() + " does not restart: restart it", e);
    }
  }

  /** Hides isolated bundles from the component runtime, from now on. */
  private void hide() {
    synchronized (lock) {
      if (!hooks.isEmpty() || isClosed) {
        return;
      }
      EventHook events =
          (event, contexts) -> {
            if (isIsolated(event.getBundle())) {
              contexts.removeIf(IsolatedBundles::isComponentRuntime);
            }
          };
      FindHook find =
          (asking, found) -> {
            if (isComponentRuntime(asking)) {
              removeIsolated(found);
            }
          };
      ConfigurationListener configurations = event -> restartMisplaced();
      hooks =
          List.of(
              context.registerService(ConfigurationListener.class, configurations, null),
              context.registerService(EventHook.class, events, null),
              context.registerService(FindHook.class, find, null));
    }
  }

  private void removeIsolated(Collection<Bundle> found) {
    found.removeIf(this::isIsolated);
  }

  private static boolean isComponentRuntime(BundleContext asking) {
    BundleRevision revision = asking.getBundle().adapt(BundleRevision.class);
    return revision != null
        && revision.getDeclaredCapabilities("osgi.extender").stream()
            .anyMatch(
                extender -> "osgi.component".equals(extender.getAttributes().get("osgi.extender")));
  }

  private void changed(BundleEvent event) {
    Bundle bundle = event.getBundle();
    switch (event.getType()) {
      case BundleEvent.INSTALLED -> {
        if (isIsolated(bundle)) {
          hide();
        }
      }
      case BundleEvent.STARTED -> {
        if (isIsolated(bundle)) {
          start(bundle);
        }
      }
      case BundleEvent.STOPPING -> {
        IsolatedBundle stopping = running.remove(bundle);
        if (stopping != null) {
          stopping.close();
        }
      }
      default -> {
        // The others change nothing.
      }
    }
  }

  private void start(Bundle bundle) {
    IsolatedBundle isolated =
        new IsolatedBundle(
            bundle,
            names(bundle).getFirst(),
            command,
            plan,
            DeviceConfigurations.of(context, bundle),
            log,
            this::bursts);
    if (running.putIfAbsent(bundle, isolated) == null) {
      isolated.start();
    }
  }

  /** Returns the service of bursts, which this bundle gets when it is first needed. */
  private Optional<BurstService> bursts() {
    synchronized (lock) {
      if (burstReference == null && !isClosed) {
        burstReference = context.getServiceReference(BurstService.class);
      }
      return burstReference == null
          ? Optional.empty()
          : Optional.ofNullable(context.getService(burstReference));
    }
  }

  /** Ends all processes. The bundles stay, without devices, until they are started again. */
  @Override
  public void close() {
    isClosed = true;
    context.removeBundleListener(listener);
    Thread restarting;
    List<ServiceRegistration<?>> old;
    synchronized (lock) {
      restarting = restarts;
      old = hooks;
      hooks = List.of();
    }
    join(restarting);
    running.values().forEach(IsolatedBundle::close);
    running.clear();
    old.forEach(ServiceRegistration::unregister);
  }

  private static void join(Thread restarting) {
    if (restarting != null) {
      Joining.join(restarting, LONGEST_RESTART);
    }
  }
}
