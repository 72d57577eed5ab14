// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.api.DeviceDescription;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.hal.DeviceInfo;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.runtime.registry.DeviceCalls.Terms;
import io.thalamus.runtime.registry.GuardedCall.End;
import io.thalamus.runtime.registry.GuardedCall.Outcome;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.FrameworkUtil;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Modified;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.component.annotations.ReferencePolicyOption;
import org.osgi.service.metatype.annotations.Designate;

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
@Designate(ocd = DeviceSettings.class)
public final class DeviceRegistry implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(DeviceRegistry.class.getPackageName());

  private final Object lock = new Object();
  private final List<DeviceEntry> entries = new ArrayList<>();
  private final List<DeviceEntry> departed = new ArrayList<>();
  private final CallThreads callThreads = new CallThreads();
  private final Timekeeper time;
  private final Watch watch;
  private final List<DeviceListener> listeners = new CopyOnWriteArrayList<>();
  private long changes;
  private volatile HealthSettings settings;

  @Activate
  public DeviceRegistry(DeviceSettings settings) {
    this(HealthSettings.of(settings), new SystemTime());
  }

  /** A registry with these settings, and the machine's clock. */
  public DeviceRegistry(HealthSettings settings) {
    this(settings, new SystemTime());
  }

  /** A registry with these settings that lives by another clock, which it closes. */
  public DeviceRegistry(HealthSettings settings, Timekeeper time) {
    this.settings = settings;
    this.time = time;
    this.watch =
        new Watch(callThreads, time, () -> this.settings, this::quarantined, this::announce);
  }

  /** Other settings count from now on. */
  @Modified
  void modified(DeviceSettings changed) {
    settings = HealthSettings.of(changed);
  }

  /** A device has come. */
  @Reference(
      cardinality = ReferenceCardinality.MULTIPLE,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  public void addDevice(Device device, Map<String, Object> properties) {
    DeviceEntry entry = inspect(device, properties);
    Optional<RegisteredDevice> arrived;
    synchronized (lock) {
      entries.add(entry);
      arrived = admit(entry);
    }
    if (arrived.isEmpty()) {
      LOG.log(Level.WARNING, "device {0} is refused: {1}", entry.name(), entry.reason());
    }
    if (!entry.isOnTrial()) {
      arrived.ifPresent(this::announce);
    }
  }

  /** A device goes. */
  public void removeDevice(Device device) {
    DeviceEntry entry;
    Optional<RegisteredDevice> leaving;
    Optional<RegisteredDevice> next = Optional.empty();
    synchronized (lock) {
      entry = entries.stream().filter(e -> e.isOf(device)).findFirst().orElse(null);
      if (entry == null) {
        return;
      }
      entries.remove(entry);
      leaving = entry.registered();
      if (leaving.isPresent()) {
        leaving.get().refuseCalls();
        departed.add(entry);
        changes++;
        next = admitWhoeverWaits();
      }
    }
    if (leaving.isPresent()) {
      depart(leaving.get());
      synchronized (lock) {
        entry.leave();
        departed.removeIf(DeviceEntry::isGone);
      }
    }
    next.ifPresent(this::announce);
  }

  private void announce(RegisteredDevice device) {
    LOG.log(Level.DEBUG, "device {0} {1} serves", device.id(), device.info().version());
    changed();
    listeners.forEach(listener -> listener.arrived(device));
  }

  private void quarantined(RegisteredDevice device) {
    changed();
    listeners.forEach(listener -> listener.departing(device));
  }

  private void changed() {
    synchronized (lock) {
      changes++;
    }
  }

  private void depart(RegisteredDevice device) {
    listeners.forEach(listener -> listener.departing(device));
    int stuck = device.drain(settings.drainTime());
    listeners.forEach(listener -> listener.departed(device));
    if (stuck > 0) {
      LOG.log(
          Level.WARNING,
          "device {0} left with {1} calls still running after {2} ms: {3}",
          device.id(),
          stuck,
          settings.drainTime().toMillis(),
          device.health().stuckCalls());
    }
  }

  private DeviceEntry inspect(Device device, Map<String, Object> properties) {
    DeviceCalls calls =
        new DeviceCalls(callThreads, time, DeviceCalls.classLoader(device), call -> {});
    Duration limit = settings.answerTime();
    Outcome<Facts> outcome =
        calls.make(
            new Terms("info", limit, ExecutionControl.NONE), control -> facts(device), late -> {});
    Facts facts =
        outcome.end() == End.NONE
            ? outcome.answer()
            : new Facts(
                null, "asked for facts, " + RegisteredDevice.describe(outcome.end(), limit));
    DeviceInfo info = facts.info();
    String objection = info == null ? facts.objection() : DeviceFacts.objection(info).orElse("");
    return new DeviceEntry(
        device,
        info,
        idOf(properties.get(DeviceDriver.NAMESPACE), info),
        ServiceFacts.of(properties),
        objection,
        isOnTrial(device));
  }

  private static boolean isOnTrial(Device device) {
    Bundle bundle = FrameworkUtil.getBundle(device.getClass());
    return bundle != null && bundle.getLocation().startsWith(DeviceDescription.TRIAL_LOCATION);
  }

  /** What a device says of itself; null where it says nothing useful. */
  private record Facts(DeviceInfo info, String objection) {}

  private static Facts facts(Device device) {
    try {
      return new Facts(device.info(), "it has no facts");
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      return new Facts(null, "it broke when asked for facts: " + e);
    }
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
  private Optional<RegisteredDevice> admit(DeviceEntry entry) {
    if (entry.isImpossible()) {
      return Optional.empty();
    }
    Optional<DeviceEntry> twin =
        entries.stream()
            .filter(e -> e.registered().isPresent())
            .filter(e -> e.hasNameOf(entry))
            .findFirst();
    if (twin.isPresent()) {
      entry.refuse("a device of this name is here already: " + twin.get().name());
      return Optional.empty();
    }
    changes++;
    return Optional.of(entry.register(watch));
  }

  private Optional<RegisteredDevice> admitWhoeverWaits() {
    return entries.stream()
        .filter(entry -> entry.registered().isEmpty())
        .map(this::admit)
        .flatMap(Optional::stream)
        .findFirst();
  }

  /** Those that serve, in the order of their arrival; the reference is the last. */
  public List<RegisteredDevice> devices() {
    synchronized (lock) {
      List<RegisteredDevice> serving =
          entries.stream()
              .filter(entry -> !entry.isOnTrial())
              .flatMap(entry -> entry.registered().stream())
              .filter(RegisteredDevice::isServing)
              .toList();
      return Stream.concat(
              serving.stream().filter(device -> !device.isReference()),
              serving.stream().filter(RegisteredDevice::isReference))
          .toList();
    }
  }

  /** Those that a plan may name, and nothing else. */
  public List<RegisteredDevice> onTrial() {
    synchronized (lock) {
      return entries.stream()
          .filter(DeviceEntry::isOnTrial)
          .flatMap(entry -> entry.registered().stream())
          .toList();
    }
  }

  /** Those that are in quarantine, in the order of their arrival. */
  public List<RegisteredDevice> quarantined() {
    synchronized (lock) {
      return entries.stream()
          .flatMap(entry -> entry.registered().stream())
          .filter(RegisteredDevice::isQuarantined)
          .toList();
    }
  }

  /** The share of executions that are compared with the reference where nobody says otherwise. */
  public double samplingRate() {
    return settings.samplingRate();
  }

  /** How many arrivals and departures there have been: a mark to see whether anything changed. */
  public long changes() {
    synchronized (lock) {
      return changes;
    }
  }

  /**
   * Those that are here, serving or not, the reference being the last; then those that are leaving,
   * and those that have left but hold a thread.
   */
  public List<DeviceDescription> descriptions() {
    List<DeviceEntry> now;
    List<DeviceEntry> before;
    synchronized (lock) {
      now = entries.stream().filter(DeviceEntry::hasFacts).map(DeviceEntry::copy).toList();
      departed.removeIf(DeviceEntry::isGone);
      before = departed.stream().map(DeviceEntry::copy).toList();
    }
    return Stream.of(
            now.stream().filter(entry -> !entry.isReference()).map(DeviceEntry::describe),
            now.stream().filter(DeviceEntry::isReference).map(DeviceEntry::describe),
            before.stream().map(DeviceEntry::describeDeparted))
        .flatMap(each -> each)
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

  /** Ends the threads. Whoever still waits for a device goes on without it. */
  @Deactivate
  @Override
  public void close() {
    List<RegisteredDevice> left;
    synchronized (lock) {
      left = entries.stream().flatMap(entry -> entry.registered().stream()).toList();
    }
    callThreads.close();
    left.forEach(RegisteredDevice::abandon);
    time.close();
  }
}
