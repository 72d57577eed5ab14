// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.api.DeviceDescription;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.hal.DeviceInfo;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.component.annotations.ReferencePolicyOption;

/**
 * The devices that are here now. Thread-safe. Devices whose facts are impossible, or whose name is
 * taken, are kept aside with the reason.
 *
 * <p>A departure is synchronous: when {@link #removeDevice} returns, no call runs on the device but
 * those that were abandoned, and its prepared models are closed.
 */
@Component(
    service = DeviceRegistry.class,
    immediate = true,
    configurationPid = "io.thalamus.runtime.devices")
public final class DeviceRegistry implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(DeviceRegistry.class.getPackageName());

  private final Duration drainTime;
  private final Object lock = new Object();
  private final List<Entry> entries = new ArrayList<>();
  private final CallThreads callThreads = new CallThreads();
  private long changes;
  private final List<DeviceListener> listeners = new CopyOnWriteArrayList<>();

  /** Settings of the registry. */
  public @interface Settings {
    /** How long a departing device may finish its running calls before they are abandoned. */
    long drainMillis() default 5000;
  }

  @Activate
  public DeviceRegistry(Settings settings) {
    this(Duration.ofMillis(settings.drainMillis()));
  }

  /** A registry that waits this long for the calls of a departing device. */
  public DeviceRegistry(Duration drainTime) {
    this.drainTime = drainTime;
  }

  /** A device has come. */
  @Reference(
      cardinality = ReferenceCardinality.MULTIPLE,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  public void addDevice(Device device, Map<String, Object> properties) {
    Entry entry = inspect(device, properties.get(DeviceDriver.NAMESPACE));
    Optional<RegisteredDevice> arrived;
    synchronized (lock) {
      entries.add(entry);
      arrived = admit(entry);
    }
    if (arrived.isEmpty()) {
      LOG.log(Level.WARNING, "device {0} is refused: {1}", entry.name(), entry.reason);
    }
    arrived.ifPresent(this::announce);
  }

  /** A device goes. */
  public void removeDevice(Device device) {
    RegisteredDevice leaving = null;
    Optional<RegisteredDevice> next = Optional.empty();
    synchronized (lock) {
      Entry entry = entries.stream().filter(e -> e.device == device).findFirst().orElse(null);
      if (entry == null) {
        return;
      }
      entries.remove(entry);
      leaving = entry.registered;
      if (leaving != null) {
        leaving.refuseCalls();
        changes++;
        next = admitWhoeverWaits();
      }
    }
    if (leaving != null) {
      depart(leaving);
    }
    next.ifPresent(this::announce);
  }

  private void announce(RegisteredDevice device) {
    LOG.log(Level.DEBUG, "device {0} {1} serves", device.id(), device.info().version());
    listeners.forEach(listener -> listener.arrived(device));
  }

  private void depart(RegisteredDevice device) {
    listeners.forEach(listener -> listener.departing(device));
    int stuck = device.drain(drainTime);
    if (stuck > 0) {
      LOG.log(
          Level.WARNING,
          "device {0} left with {1} calls still running after {2} ms",
          device.id(),
          stuck,
          drainTime.toMillis());
    }
  }

  private static Entry inspect(Device device, Object idProperty) {
    DeviceInfo info;
    try {
      info = device.info();
    } catch (RuntimeException | LinkageError e) {
      return new Entry(device, null, idOf(idProperty, null), "it broke when asked for facts: " + e);
    }
    if (info == null) {
      return new Entry(device, null, idOf(idProperty, null), "it has no facts");
    }
    return new Entry(device, info, idOf(idProperty, info), DeviceFacts.objection(info).orElse(""));
  }

  private static String idOf(Object property, DeviceInfo info) {
    if (property instanceof String id && !id.isBlank()) {
      return id;
    }
    if (info == null) {
      return "?";
    }
    // thalamus-cpu is known as cpu to people.
    return info.name().substring(info.name().lastIndexOf('-') + 1);
  }

  /** Lets a possible device serve, unless another one has its name. Under the lock. */
  private Optional<RegisteredDevice> admit(Entry entry) {
    if (entry.isImpossible) {
      return Optional.empty();
    }
    Optional<Entry> twin =
        entries.stream()
            .filter(e -> e.registered != null)
            .filter(e -> e.id.equals(entry.id) || e.info.name().equals(entry.info.name()))
            .findFirst();
    if (twin.isPresent()) {
      entry.reason = "a device of this name is here already: " + twin.get().name();
      return Optional.empty();
    }
    entry.reason = "";
    entry.registered = new RegisteredDevice(entry.id, entry.device, entry.info, callThreads);
    changes++;
    return Optional.of(entry.registered);
  }

  private Optional<RegisteredDevice> admitWhoeverWaits() {
    return entries.stream()
        .filter(entry -> entry.registered == null)
        .map(this::admit)
        .flatMap(Optional::stream)
        .findFirst();
  }

  /** Those that serve, in the order of their arrival; the reference is the last. */
  public List<RegisteredDevice> devices() {
    synchronized (lock) {
      List<RegisteredDevice> serving =
          entries.stream().map(entry -> entry.registered).filter(d -> d != null).toList();
      return Stream.concat(
              serving.stream().filter(device -> !device.isReference()),
              serving.stream().filter(RegisteredDevice::isReference))
          .toList();
    }
  }

  /** How many arrivals and departures there have been: a mark to see whether anything changed. */
  public long changes() {
    synchronized (lock) {
      return changes;
    }
  }

  /** Those that serve and those that are refused; the reference is the last. */
  public List<DeviceDescription> descriptions() {
    List<Entry> now;
    synchronized (lock) {
      now = entries.stream().filter(entry -> entry.info != null).map(Entry::copy).toList();
    }
    return Stream.concat(
            now.stream().filter(entry -> !entry.isReference()),
            now.stream().filter(Entry::isReference))
        .map(Entry::describe)
        .toList();
  }

  /** Tells a listener of changes from now on. */
  public void addListener(DeviceListener listener) {
    listeners.add(listener);
  }

  /** Tells a listener no more. */
  public void removeListener(DeviceListener listener) {
    listeners.remove(listener);
  }

  /** Ends the threads; the devices have been taken away before. */
  @Deactivate
  @Override
  public void close() {
    callThreads.close();
  }

  /** A device service, serving or refused. Guarded by the registry's lock. */
  private static final class Entry {
    private final Device device;
    private final DeviceInfo info;
    private final String id;
    private final boolean isImpossible;
    private String reason;
    private RegisteredDevice registered;

    Entry(Device device, DeviceInfo info, String id, String objection) {
      this.device = device;
      this.info = info;
      this.id = id;
      this.isImpossible = !objection.isEmpty();
      this.reason = objection;
    }

    Entry copy() {
      Entry copy = new Entry(device, info, id, isImpossible ? reason : "");
      copy.reason = reason;
      copy.registered = registered;
      return copy;
    }

    String name() {
      return info == null ? id : info.name();
    }

    boolean isReference() {
      return registered != null && registered.isReference();
    }

    DeviceDescription describe() {
      return new DeviceDescription(
          id,
          info.name(),
          info.version(),
          info.type(),
          info.featureLevel(),
          info.capabilities(),
          info.cacheNeeds().modelCacheFiles(),
          info.cacheNeeds().dataCacheFiles(),
          info.memoryKinds(),
          info.memoryDomain(),
          info.extensions(),
          info.exactQuantized(),
          registered != null ? DeviceDescription.State.AVAILABLE : DeviceDescription.State.REFUSED,
          reason);
    }
  }
}
