// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.api.DeviceDescription;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.model.DeviceInfo;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Unanswered;
import io.thalamus.runtime.call.CallThreads;
import io.thalamus.runtime.call.Supervisor;
import io.thalamus.runtime.call.SystemTime;
import io.thalamus.runtime.call.Terms;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.call.Timekeeper;
import io.thalamus.runtime.registry.DeviceEntry.Presence;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;
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
 * The devices that are here now. Thread-safe. A device whose facts are impossible, or whose name is
 * taken, is kept aside with the reason.
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
  private final DeviceMonitor.Factory monitors;
  private final List<DeviceListener> listeners = new CopyOnWriteArrayList<>();
  private long changes;
  private volatile HealthSettings settings;

  @Activate
  public DeviceRegistry(DeviceSettings settings, @Reference DeviceMonitor.Factory monitors) {
    this(HealthSettings.of(settings), new SystemTime(), monitors);
  }

  /** A registry that lives by the machine's clock. */
  public DeviceRegistry(HealthSettings settings, DeviceMonitor.Factory monitors) {
    this(settings, new SystemTime(), monitors);
  }

  /** A registry that lives by another clock, which it closes. */
  public DeviceRegistry(HealthSettings settings, Timekeeper time, DeviceMonitor.Factory monitors) {
    this.settings = settings;
    this.time = time;
    this.monitors = monitors;
  }

  /** Takes over other settings at once. */
  @Modified
  void modified(DeviceSettings changed) {
    settings = HealthSettings.of(changed);
  }

  /** Takes in a device, or refuses it and says why. */
  @Reference(
      cardinality = ReferenceCardinality.MULTIPLE,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  public void addDevice(Device device, Map<String, Object> properties) {
    Supervisor supervisor = new Supervisor(device, callThreads, time);
    Optional<Duration> limit = Optional.of(settings.answerTime());
    Answer<DeviceInfo> answer =
        supervisor.call(
            new Terms("info", Admission.UNTIL_DEPARTURE, limit),
            (driver, control) -> driver.info(),
            late -> {});
    DeviceInfo info = answer instanceof Answered<DeviceInfo>(DeviceInfo facts) ? facts : null;
    if (info == null) {
      String why = answer instanceof Unanswered<DeviceInfo> none ? none.message() : "it has none";
      refused(id(properties, null), "asked for facts, " + why);
      return;
    }
    DeviceEntry entry =
        new DeviceEntry(
            new RegisteredDevice(
                id(properties, info),
                info,
                ServiceProperties.of(properties),
                supervisor,
                () -> settings,
                new Changes(),
                monitors),
            DeviceInfoValidator.objection(info).orElse(""),
            isOnTrial(device));
    boolean isAdmitted;
    synchronized (lock) {
      entries.add(entry);
      isAdmitted = admit(entry);
    }
    if (!isAdmitted) {
      refused(info.name(), entry.refusal());
    } else if (!entry.isOnTrial()) {
      announce(entry.device());
    }
  }

  private static void refused(String name, String why) {
    LOG.log(Level.WARNING, "device {0} is refused: {1}", name, why);
  }

  /** Lets a device go, and returns when no call runs on it but abandoned ones. */
  public void removeDevice(Device device) {
    DeviceEntry entry;
    Optional<DeviceEntry> next;
    synchronized (lock) {
      entry =
          entries.stream()
              .filter(e -> e.device().supervisor().isOf(device))
              .findFirst()
              .orElse(null);
      if (entry == null) {
        return;
      }
      entries.remove(entry);
      if (entry.is(Presence.REFUSED)) {
        return;
      }
      entry.device().supervisor().refuse();
      entry.enter(Presence.LEAVING);
      departed.add(entry);
      changes++;
      next = admitNext();
    }
    depart(entry.device());
    synchronized (lock) {
      entry.enter(Presence.GONE);
      forgetGone();
    }
    next.ifPresent(waiting -> announce(waiting.device()));
  }

  /** Announces what health decides of a device. */
  private final class Changes implements DeviceListener {
    @Override
    public void arrived(RegisteredDevice device) {
      announce(device);
    }

    @Override
    public void departing(RegisteredDevice device) {
      changed();
      listeners.forEach(listener -> listener.departing(device));
    }
  }

  private void announce(RegisteredDevice device) {
    LOG.log(Level.DEBUG, "device {0} {1} serves", device.id(), device.info().version());
    changed();
    listeners.forEach(listener -> listener.arrived(device));
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

  private static boolean isOnTrial(Device device) {
    Bundle bundle = FrameworkUtil.getBundle(device.getClass());
    return bundle != null && bundle.getLocation().startsWith(DeviceDescription.TRIAL_LOCATION);
  }

  private static String id(Map<String, Object> properties, DeviceInfo info) {
    if (properties.get(DeviceDriver.NAMESPACE) instanceof String id && !id.isBlank()) {
      return id;
    }
    // thalamus-cpu is known as cpu to people.
    return info == null ? "?" : info.name().substring(info.name().lastIndexOf('-') + 1);
  }

  /** Lets a possible device serve, unless another one has its name. Under the lock. */
  private boolean admit(DeviceEntry entry) {
    if (entry.isImpossible()) {
      return false;
    }
    Optional<DeviceEntry> twin =
        entries.stream().filter(e -> e.is(Presence.HERE) && e.hasNameOf(entry)).findFirst();
    if (twin.isPresent()) {
      entry.refuse("a device of this name is here already: " + twin.get().device().info().name());
      return false;
    }
    entry.enter(Presence.HERE);
    changes++;
    return true;
  }

  /** Lets the first device serve that was refused because of its name. Under the lock. */
  private Optional<DeviceEntry> admitNext() {
    return entries.stream().filter(e -> e.is(Presence.REFUSED)).filter(this::admit).findFirst();
  }

  /** Forgets the devices that have left and hold no thread any more. Under the lock. */
  private void forgetGone() {
    departed.removeIf(entry -> entry.is(Presence.GONE) && !entry.device().isStuck());
  }

  private Stream<RegisteredDevice> here(Predicate<DeviceEntry> condition) {
    synchronized (lock) {
      return entries.stream()
          .filter(entry -> entry.is(Presence.HERE) && condition.test(entry))
          .map(DeviceEntry::device)
          .toList()
          .stream();
    }
  }

  /** Returns those that serve, in the order of their arrival; the reference is the last. */
  public List<RegisteredDevice> devices() {
    return here(entry -> !entry.isOnTrial())
        .filter(RegisteredDevice::isServing)
        .sorted(Comparator.comparing(RegisteredDevice::isReference))
        .toList();
  }

  /** Returns those that a plan may name, and nothing else. */
  public List<RegisteredDevice> onTrial() {
    return here(DeviceEntry::isOnTrial).toList();
  }

  /** Returns those that are in quarantine, in the order of their arrival. */
  public List<RegisteredDevice> quarantined() {
    return here(entry -> entry.device().isSuspended()).toList();
  }

  /** Returns the share of executions that are compared with the reference by default. */
  public double samplingRate() {
    return settings.samplingRate();
  }

  /** Returns the number of arrivals and departures: a mark to see whether anything changed. */
  public long changes() {
    synchronized (lock) {
      return changes;
    }
  }

  /**
   * Returns those that are here, serving or not, the reference being the last; then those that are
   * leaving, and those that have left but hold a thread.
   */
  public List<DeviceDescription> descriptions() {
    synchronized (lock) {
      forgetGone();
      return Stream.concat(
              entries.stream().sorted(Comparator.comparing(DeviceEntry::isServingReference)),
              departed.stream())
          .map(DeviceEntry::describe)
          .toList();
    }
  }

  /** Informs a listener of changes from now on. */
  public void addListener(DeviceListener listener) {
    listeners.add(listener);
  }

  /** Informs a listener no longer. */
  public void removeListener(DeviceListener listener) {
    listeners.remove(listener);
  }

  /** Ends the threads. Callers that still wait for a device go on without it. */
  @Deactivate
  @Override
  public void close() {
    List<RegisteredDevice> left;
    synchronized (lock) {
      left = entries.stream().map(DeviceEntry::device).toList();
    }
    callThreads.close();
    left.forEach(RegisteredDevice::abandon);
    time.close();
  }
}
