// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.api.DeviceHealth;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.DeviceInfo;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.runtime.registry.DeviceCalls.Terms;
import io.thalamus.runtime.registry.GuardedCall.End;
import io.thalamus.runtime.registry.GuardedCall.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A device as long as it is here, and the only way to call it. Thread-safe.
 *
 * <p>Calls are counted, so that a departure can wait for them. Once the device has left, every call
 * is refused, its prepared models are closed, and nothing here refers to its bundle any more.
 *
 * <p>All calls of a device but the reference are watched: one that takes too long is given up, and
 * the device goes into quarantine. Only executions of CPU devices run in the threads of their
 * callers, and cannot be given up: handing them over would cost more than small models do.
 */
public final class RegisteredDevice {
  /** The name of the CPU device that everything falls back to. */
  public static final String REFERENCE_NAME = "thalamus-cpu";

  private final String id;
  private final DeviceInfo info;
  private final ServiceFacts service;
  private final Watch watch;
  private final HealthMonitor health;
  private final Quarantine quarantine;
  private final DeviceCalls calls;
  private final Occupancy occupancy;
  private final DevicePreparations preparations;
  private final DeviceBuffers buffers;
  private volatile boolean doesNotClose;

  /** A device that serves, watched as the watch says. */
  RegisteredDevice(String id, Device device, DeviceInfo info, ServiceFacts service, Watch watch) {
    this.id = id;
    this.service = service;
    this.occupancy = new Occupancy(device);
    this.preparations = new DevicePreparations(this, occupancy);
    this.buffers = new DeviceBuffers(this, occupancy);
    this.info = info;
    this.watch = watch;
    this.health = new HealthMonitor(watch.time(), watch::settings);
    this.quarantine = new Quarantine(this, health, watch);
    this.calls = watch.calls(device, quarantine::hung);
  }

  /** A device that serves; its calls are not watched. */
  public RegisteredDevice(String id, Device device, DeviceInfo info) {
    this(id, device, info, ServiceFacts.NONE, Watch.none());
  }

  /** The short name, for example {@code cpu}. */
  public String id() {
    return id;
  }

  /** The facts, as they were when the device arrived. */
  public DeviceInfo info() {
    return info;
  }

  /** What its registration says of where it comes from. */
  public ServiceFacts service() {
    return service;
  }

  /** Whether it is the CPU device that everything falls back to. */
  public boolean isReference() {
    return info.type() == DeviceType.CPU && info.name().equals(REFERENCE_NAME);
  }

  /** Whether those whose executions it runs do not wait for it for ever. */
  public boolean isGuarded() {
    return isWatched() && info.type() != DeviceType.CPU;
  }

  /**
   * Returns whether arguments are passed to it by pointer: it says that it takes them, and its
   * executions run in the threads of their callers and cannot be abandoned.
   */
  public boolean takesPointers() {
    return info.pointerArguments() && !isGuarded();
  }

  /** Whether other calls than executions are watched. */
  boolean isWatched() {
    return watch.isOn() && !isReference();
  }

  /** Whether it takes work: it is neither leaving nor in quarantine. */
  public boolean isServing() {
    return absence().isEmpty();
  }

  /** Why it takes no work, or nothing where it does. */
  Optional<String> absence() {
    if (isLeaving()) {
      return Optional.of("it has left");
    }
    return health.isQuarantined()
        ? Optional.of("it is in quarantine: " + health.reason())
        : Optional.empty();
  }

  /** Whether its departure no longer waits for its running calls. */
  public boolean isAbandoned() {
    return occupancy.isAbandoned();
  }

  boolean isLeaving() {
    return occupancy.isLeaving();
  }

  boolean isQuarantined() {
    return health.isQuarantined();
  }

  /** Why it is in quarantine. */
  public String quarantineReason() {
    return health.reason();
  }

  /** How it has behaved. */
  public DeviceHealth health() {
    return new DeviceHealth(
        health.failures(),
        health.quarantines(),
        health.until(),
        health.samples(),
        health.mismatches(),
        calls.stuck());
  }

  /** Whether a thread is in it that nobody waits for. */
  boolean isStuck() {
    return calls.isStuck();
  }

  DeviceCalls calls() {
    return calls;
  }

  HealthSettings settings() {
    return watch.settings();
  }

  Timekeeper time() {
    return watch.time();
  }

  /**
   * What the device says of the operations of the main graph.
   *
   * @return what it promised; nothing where it failed to answer
   */
  public Support supportedOperations(Model model) {
    return supportedOperations(model, false);
  }

  Support supportedOperations(Model model, boolean isProbe) {
    Device entered = enter(isProbe);
    if (entered == null) {
      return Support.none(absence().orElse("it has left"));
    }
    Function<ExecutionControl, Support> work = control -> ask(entered, model);
    if (!isWatched()) {
      return here(work, ExecutionControl.NONE);
    }
    Outcome<Support> outcome =
        make(
            new Terms("supportedOperations", settings().answerTime(), ExecutionControl.NONE),
            work,
            late -> {});
    return outcome.end() == End.NONE
        ? outcome.answer()
        : Support.broken(describe(outcome.end(), settings().answerTime()));
  }

  /** Asks the device, which was entered. */
  private Support ask(Device entered, Model model) {
    List<SharedMemory.Lease> leases = new ArrayList<>();
    try {
      model.pools().forEach(pool -> leases.add(pool.lend()));
      BitSet answer = entered.supportedOperations(model);
      int operations = model.main().operations().size();
      if (answer == null || answer.length() > operations) {
        return broken("its answer does not have " + operations + " flags");
      }
      return new Support((BitSet) answer.clone(), "it does not support it", false);
    } catch (DeviceException e) {
      return Support.none("it refused the model: " + e.getMessage());
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      return broken("it broke when asked: " + e);
    } finally {
      leases.forEach(SharedMemory.Lease::close);
    }
  }

  private Support broken(String why) {
    failed(ErrorStatus.GENERAL_FAILURE, why);
    return Support.broken(why);
  }

  /**
   * Prepares a model. The result is owned by the caller, and closed at the latest when the device
   * leaves. The cache files of the config are closed once the device has returned, however late, or
   * was not called.
   *
   * @throws DeviceException with what the device says; DEVICE_UNAVAILABLE where it has left, is in
   *     quarantine or did not answer
   */
  public DevicePreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    return prepare(model, config, false);
  }

  DevicePreparedModel prepare(Model model, PrepareConfig config, boolean isProbe)
      throws DeviceException {
    return preparations.prepare(model, config, isProbe);
  }

  /**
   * Restores a model from the cache files of the config; in all else as {@link #prepare(Model,
   * PrepareConfig)}. That the files do not hold it is no fault of the device.
   *
   * @param model what was stored
   */
  public DevicePreparedModel prepareFromCache(Model model, PrepareConfig config)
      throws DeviceException {
    return preparations.prepareFromCache(model, config);
  }

  /**
   * Allocates a buffer. The result is owned by the caller, and closed at the latest when the device
   * leaves.
   *
   * @param onDeparture told before that, when no call runs on the device any more: the last moment
   *     to copy the contents out
   * @throws DeviceException with what the device says; DEVICE_UNAVAILABLE where it has left, is in
   *     quarantine or did not answer
   */
  public DeviceMemory allocate(
      BufferDesc desc, List<BufferRole> roles, Consumer<DeviceMemory> onDeparture)
      throws DeviceException {
    return buffers.allocate(desc, roles, onDeparture);
  }

  DeviceBuffers buffers() {
    return buffers;
  }

  /** Whether it can map memories of all these kinds: a failure over others is no fault of it. */
  public boolean reads(List<SharedMemory> memories) {
    return memories.stream().allMatch(memory -> info.memoryKinds().contains(memory.kind()));
  }

  /** Closes something of the device, and does not wait for ever for it. */
  void close(Runnable closing) {
    if (!isWatched()) {
      closing.run();
      return;
    }
    // One that did not close once will hardly do so at the next: then nobody waits.
    Duration limit = doesNotClose ? Duration.ZERO : settings().answerTime();
    Outcome<Boolean> outcome =
        calls.make(
            new Terms(DeviceCalls.CLOSE, limit, ExecutionControl.NONE),
            control -> {
              closing.run();
              return true;
            },
            late -> {});
    if (outcome.end() == End.HUNG) {
      doesNotClose = true;
    } else if (outcome.end() == End.NO_THREAD) {
      closing.run();
    }
  }

  /** How long a call may take, of which the longest until now took so long. */
  Duration limit(long longestNanos, Duration floor) {
    long estimate = longestNanos * settings().executionFactor();
    return estimate > floor.toNanos() ? Duration.ofNanos(estimate) : floor;
  }

  /** Why there is no answer, for people. */
  static String describe(End end, Duration limit) {
    return switch (end) {
      case HUNG -> "it did not answer within " + limit.toMillis() + " ms";
      case DEADLINE, CANCELLED -> "it did not stop when it was told to";
      case LEFT -> "it left before it was done";
      case NO_THREAD -> "too many calls wait for devices";
      case NONE -> "";
    };
  }

  /** What a caller learns of a call that ended without an answer. */
  static CallOutcome unanswered(End end, Duration limit) {
    return end == End.NO_THREAD
        ? CallOutcome.refused(status(end), describe(end, limit))
        : CallOutcome.abandoned(status(end), describe(end, limit));
  }

  static ErrorStatus status(End end) {
    return switch (end) {
      case DEADLINE -> ErrorStatus.MISSED_DEADLINE_TRANSIENT;
      case HUNG, LEFT -> ErrorStatus.DEVICE_UNAVAILABLE;
      case NO_THREAD -> ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT;
      case CANCELLED, NONE -> ErrorStatus.GENERAL_FAILURE;
    };
  }

  /** Holds a failed call against the device; see {@link Quarantine#failed}. */
  public void failed(ErrorStatus status, String what) {
    quarantine.failed(status, what);
  }

  /** A step was executed again on the reference, which said the same. */
  public void agreed() {
    quarantine.agreed();
  }

  /**
   * A step was executed again on the reference, which said something else: that is held against the
   * device.
   *
   * @param again what the device has to compute before it is used again; closed when it has, or
   *     leaves
   */
  public void disagreed(String difference, Optional<Recheck> again) {
    quarantine.disagreed(difference, again);
  }

  /** Begins a call, unless the device takes no work: then null. */
  Device enter(boolean isProbe) {
    return isProbe || !health.isQuarantined() ? occupancy.enter() : null;
  }

  /** Makes a call of the device, which was entered, in this thread, and leaves it. */
  <T> T here(Function<ExecutionControl, T> work, ExecutionControl control) {
    try {
      return work.apply(control);
    } finally {
      exit();
    }
  }

  /**
   * Makes a call of the device, which was entered, in a thread of the runtime, and leaves it when
   * its caller has the answer: a departure must not take an answer for one that never came.
   */
  <T> Outcome<T> make(Terms terms, Function<ExecutionControl, T> work, Consumer<T> late) {
    Outcome<T> outcome = calls.make(terms, work, late, this::exit);
    if (outcome.end() == End.NO_THREAD) {
      exit();
    }
    return outcome;
  }

  /** Begins a call that gives something back, which is welcome even while the device leaves. */
  void beginClosing() {
    occupancy.beginClosing();
  }

  /** Ends a call. */
  void exit() {
    occupancy.exit();
  }

  void forget(DevicePreparedModel model) {
    occupancy.forget(model);
  }

  /** Refuses calls from now on. */
  void refuseCalls() {
    occupancy.refuseCalls();
  }

  /**
   * Waits for the running calls, has the owners of buffers copy out what they still need, and
   * closes buffers and prepared models; forgets the device. What calls that were abandoned still
   * use is closed when they return.
   *
   * @param patience how long to wait before the calls that still run are abandoned
   * @return how many calls were abandoned
   */
  int drain(Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    // Contents are copied out by the last calls of all.
    occupancy.awaitCalls(end, calls::stuckInside);
    occupancy.buffers().forEach(DeviceMemory::depart);
    // Calls that were given up already are not waited for a second time.
    Occupancy.Left left = occupancy.drain(end, calls::stuckInside);
    abandon();
    left.models().forEach(DevicePreparedModel::close);
    // Some of them others may have begun to close meanwhile: they are not open when this returns.
    occupancy.awaitCalls(end, calls::stuckInside);
    return left.running();
  }

  /** Has all callers go on without an answer, and keeps nothing for a time after. */
  void abandon() {
    calls.abandon();
    quarantine.forget();
  }

  @Override
  public String toString() {
    return id;
  }
}
