// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.model.DeviceInfo;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Unanswered;
import io.thalamus.runtime.call.Bundles;
import io.thalamus.runtime.call.RuntimeThreads;
import io.thalamus.runtime.call.Supervisor;
import io.thalamus.runtime.call.SystemTime;
import io.thalamus.runtime.call.Terms;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.call.Timekeeper;
import io.thalamus.runtime.events.Recordings;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.stream.Stream;
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
  private final Object lock = new Object();
  private final List<RegisteredDevice> present = new ArrayList<>();
  private final List<RegisteredDevice> departed = new ArrayList<>();
  private final ExecutorService callThreads = RuntimeThreads.forCalls();
  private final Timekeeper time;
  private final DeviceMonitor.Factory monitors;
  private final List<DeviceListener> listeners = new CopyOnWriteArrayList<>();
  private final Recordings recordings = new Recordings(this::tellLoad);
  private final AtomicLong samples = new AtomicLong();
  private long changes;
  private volatile DeviceSettings settings;
  private volatile double samplingRate;

  @Activate
  public DeviceRegistry(DeviceSettings settings, @Reference DeviceMonitor.Factory monitors) {
    this(settings, new SystemTime(), monitors);
  }

  /** A registry that lives by another clock, which it closes. */
  public DeviceRegistry(DeviceSettings settings, Timekeeper time, DeviceMonitor.Factory monitors) {
    this.time = time;
    this.monitors = monitors;
    modified(settings);
  }

  /**
   * Takes over other settings at once.
   *
   * @throws IllegalArgumentException if one is out of its range; the earlier ones stay
   */
  @Modified
  public void modified(DeviceSettings changed) {
    requirePositive(changed.executionFactor(), "executionFactor");
    requirePositive(changed.failures(), "failures");
    requirePositive(changed.permits(), "permits");
    requirePositive(changed.waiting(), "waiting");
    requirePositive(changed.quarantineMillis(), "quarantineMillis");
    double rate = changed.samplingRate();
    if (!(rate >= 0 && rate <= 1)) {
      throw new IllegalArgumentException("samplingRate must be from 0 to 1: " + rate);
    }
    settings = changed;
    samplingRate = rate;
  }

  private static void requirePositive(long value, String name) {
    if (value <= 0) {
      throw new IllegalArgumentException(name + " must be positive: " + value);
    }
  }

  /** Returns the clock that the runtime lives by. */
  public Timekeeper time() {
    return time;
  }

  /** Takes in a device, or refuses it and says why. */
  @Reference(
      cardinality = ReferenceCardinality.MULTIPLE,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  public void addDevice(Device device, Map<String, Object> properties) {
    Supervisor supervisor = new Supervisor(device, callThreads, time);
    Optional<Duration> limit = Optional.of(Duration.ofMillis(settings.answerMillis()));
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
    RegisteredDevice arrival =
        new RegisteredDevice(
            id(properties, info),
            info,
            isOnTrial(device),
            ServiceProperties.of(properties),
            supervisor,
            () -> settings,
            new Changes(),
            monitors);
    Optional<String> objection;
    synchronized (lock) {
      present.add(arrival);
      objection = admit(arrival);
    }
    objection.ifPresentOrElse(why -> refused(info.name(), why), () -> announce(arrival));
  }

  private static void refused(String name, String why) {
    log().log(Level.WARNING, "device {0} is refused: {1}", name, why);
  }

  /** Lets a device go, and returns when no call runs on it but abandoned ones. */
  public void removeDevice(Device device) {
    RegisteredDevice leaving;
    Optional<RegisteredDevice> next;
    synchronized (lock) {
      leaving = present.stream().filter(d -> d.supervisor().isOf(device)).findFirst().orElse(null);
      if (leaving == null) {
        return;
      }
      present.remove(leaving);
      if (leaving.is(State.REFUSED)) {
        return;
      }
      leaving.refuse();
      leaving.enter(State.LEAVING, "its running calls are waited for");
      departed.add(leaving);
      changes++;
      next = admitNext();
    }
    depart(leaving);
    synchronized (lock) {
      leaving.enter(State.LEAKED, "it has left, but does not give back its threads");
      forgetGone();
    }
    next.ifPresent(this::announce);
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
    if (device.isOnTrial()) {
      return;
    }
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
    int stuck = device.drain(Duration.ofMillis(settings.drainMillis()));
    listeners.forEach(listener -> listener.departed(device));
    if (stuck > 0) {
      log()
          .log(
              Level.WARNING,
              "device {0} left with {1} calls still running after {2} ms: {3}",
              device.id(),
              stuck,
              settings.drainMillis(),
              device.health().stuckCalls());
    }
  }

  private static boolean isOnTrial(Device device) {
    return Bundles.of(device)
        .filter(bundle -> bundle.getLocation().startsWith(DeviceDescription.TRIAL_LOCATION))
        .isPresent();
  }

  private static String id(Map<String, Object> properties, DeviceInfo info) {
    if (properties.get(DeviceDriver.NAMESPACE) instanceof String id && !id.isBlank()) {
      return id;
    }
    // thalamus-cpu is known as cpu to people.
    return info == null ? "?" : info.name().substring(info.name().lastIndexOf('-') + 1);
  }

  /**
   * Lets a device serve, unless its facts are impossible or another one has its name; returns why
   * it does not. Under the lock.
   */
  private Optional<String> admit(RegisteredDevice device) {
    Optional<String> objection =
        DeviceInfoValidator.objection(device.info()).or(() -> nameObjection(device));
    if (objection.isEmpty()) {
      changes++;
    }
    device.enter(
        objection.isPresent()
            ? State.REFUSED
            : device.isOnTrial() ? State.ON_TRIAL : State.AVAILABLE,
        objection.orElse(device.isOnTrial() ? "a plan looks at it" : ""));
    return objection;
  }

  private Optional<String> nameObjection(RegisteredDevice device) {
    for (RegisteredDevice other : present) {
      if (!other.is(State.REFUSED)
          && (other.id().equals(device.id()) || other.info().name().equals(device.info().name()))) {
        return Optional.of("a device of this name is here already: " + other.info().name());
      }
    }
    return Optional.empty();
  }

  /** Lets the first device serve that was refused because of its name. Under the lock. */
  private Optional<RegisteredDevice> admitNext() {
    return present.stream()
        .filter(device -> device.is(State.REFUSED) && admit(device).isEmpty())
        .findFirst();
  }

  /** Forgets the devices that have left and hold no thread any more. Under the lock. */
  private void forgetGone() {
    departed.removeIf(d -> d.is(State.LEAKED) && d.supervisor().stuckCalls().isEmpty());
  }

  private Stream<RegisteredDevice> here(Predicate<RegisteredDevice> condition) {
    synchronized (lock) {
      return present.stream()
          .filter(device -> !device.is(State.REFUSED) && condition.test(device))
          .toList()
          .stream();
    }
  }

  /** Returns those that serve, in the order of their arrival; the reference is the last. */
  public List<RegisteredDevice> devices() {
    // A comparator of the JDK is made when a new process first asks for it, which takes time.
    return here(device -> !device.isOnTrial() && device.isServing())
        .sorted((a, b) -> Boolean.compare(a.isReference(), b.isReference()))
        .toList();
  }

  /** Returns those that a plan may name, and nothing else. */
  public List<RegisteredDevice> onTrial() {
    return here(RegisteredDevice::isOnTrial).toList();
  }

  /** Returns those that are in quarantine, in the order of their arrival. */
  public List<RegisteredDevice> quarantined() {
    return here(RegisteredDevice::isSuspended).toList();
  }

  /** Returns the share of executions that are compared with the reference by default. */
  public double samplingRate() {
    return samplingRate;
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
              present.stream()
                  .sorted(Comparator.comparing(d -> !d.is(State.REFUSED) && d.isReference())),
              departed.stream())
          .map(RegisteredDevice::describe)
          .toList();
    }
  }

  /**
   * Lets recordings ask for the load of the devices from now on. Not before something is compiled:
   * there is none before.
   */
  public void observe() {
    recordings.open();
  }

  private void tellLoad() {
    long sample = samples.incrementAndGet();
    here(device -> !device.isOnTrial()).forEach(device -> device.schedule().tellLoad(sample));
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
      left = List.copyOf(present);
    }
    recordings.close();
    callThreads.shutdown();
    left.forEach(RegisteredDevice::abandon);
    time.close();
  }

  /** Returns the log of the package, which costs time to find: only where something is said. */
  static System.Logger log() {
    return System.getLogger(DeviceRegistry.class.getPackageName());
  }
}
