// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.DeviceHealth;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.Leases;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Model;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Failed;
import io.thalamus.runtime.call.Answer.Refused;
import io.thalamus.runtime.call.Supervisor;
import io.thalamus.runtime.call.Supervisor.Work;
import io.thalamus.runtime.call.Terms;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.call.Timekeeper;
import io.thalamus.runtime.schedule.Permits;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A device as long as it is here, and the only way to call it. Thread-safe; owned by the registry.
 *
 * <p>A departure waits for running calls. Once the device has left, every call is refused, its
 * prepared models and buffers are closed, and nothing here refers to its bundle any more.
 *
 * <p>All calls of a device but the reference are watched: one that takes too long is given up, and
 * the monitor learns of it. Only executions of CPU devices run in the threads of their callers, and
 * cannot be given up: handing them over would cost more than small models do.
 */
public final class RegisteredDevice {
  /** The name of the CPU device that everything falls back to. */
  public static final String REFERENCE_NAME = "thalamus-cpu";

  private final String id;
  private final DeviceInfo info;
  private final boolean isOnTrial;
  private final ServiceProperties service;
  private final Supervisor supervisor;
  private final Supplier<DeviceSettings> settings;
  private final DeviceListener listener;
  private final DeviceMonitor monitor;
  private final Permits permits;
  private final OpenResources open = new OpenResources();
  private final PrepareTimes prepareTimes = new PrepareTimes();
  private volatile long longestPrepareNanos;
  private volatile boolean doesNotCopy;

  /** The place in the registry, and the reason for it; under the registry's lock. */
  private State state = State.REFUSED;

  private String reason = "";

  /**
   * A device that has arrived.
   *
   * @param isOnTrial whether plans may name it, and nothing is prepared on it
   * @param settings those of the moment
   * @param listener learns when the device is suspended and resumed
   * @param monitors makes its monitor
   */
  public RegisteredDevice(
      String id,
      DeviceInfo info,
      boolean isOnTrial,
      ServiceProperties service,
      Supervisor supervisor,
      Supplier<DeviceSettings> settings,
      DeviceListener listener,
      DeviceMonitor.Factory monitors) {
    this.id = id;
    this.info = info;
    this.isOnTrial = isOnTrial;
    this.service = service;
    this.supervisor = supervisor;
    this.settings = settings;
    this.listener = listener;
    this.monitor = monitors.watch(this);
    supervisor.setOnHang(monitor::hung);
    this.permits = permits();
  }

  private Permits permits() {
    int own = isGuarded() ? settings().permits() : settings().cpuPermits();
    int count = own > 0 ? own : Runtime.getRuntime().availableProcessors();
    return new Permits(id, count, settings().waiting(), time()::nanoTime, !isGuarded());
  }

  /** Returns the short name, for example {@code cpu}. */
  public String id() {
    return id;
  }

  /** Returns the facts, as they were when the device arrived. */
  public DeviceInfo info() {
    return info;
  }

  /** Returns what its registration says of where it comes from. */
  public ServiceProperties service() {
    return service;
  }

  /** Returns the settings of the moment. */
  public DeviceSettings settings() {
    return settings.get();
  }

  /** Returns the clock by which its calls are limited. */
  public Timekeeper time() {
    return supervisor.time();
  }

  /** Enters a place of the registry; under its lock. */
  void enter(State place, String why) {
    state = place;
    reason = why;
  }

  /** Returns whether that is its place in the registry; under the registry's lock. */
  boolean is(State place) {
    return state == place;
  }

  boolean isOnTrial() {
    return isOnTrial;
  }

  /** Returns what people see of it; under the registry's lock. */
  DeviceDescription describe() {
    boolean isQuarantined = state == State.AVAILABLE && isSuspended();
    return new DeviceDescription(
        id,
        info,
        isQuarantined ? State.QUARANTINED : state,
        isQuarantined ? quarantineReason() : reason,
        is(State.REFUSED) ? DeviceHealth.GOOD : health());
  }

  Supervisor supervisor() {
    return supervisor;
  }

  /** Returns the permits that executions hold. */
  public Permits schedule() {
    return permits;
  }

  /** Takes no more work, and wakes the executions that stand back or wait. */
  void refuse() {
    supervisor.refuse();
    permits.leave();
  }

  /** Returns whether it is the CPU device that everything falls back to. */
  public boolean isReference() {
    return info.type() == DeviceType.CPU && info.name().equals(REFERENCE_NAME);
  }

  /** Returns whether its executions may be given up while they still write. */
  public boolean isGuarded() {
    return info.type() != DeviceType.CPU;
  }

  /**
   * Returns whether arguments are passed to it by pointer: it says that it takes them, and its
   * executions run in the threads of their callers and cannot be abandoned.
   */
  public boolean takesPointers() {
    return info.pointerArguments() && !isGuarded();
  }

  /**
   * Returns whether executions wait for fences on it: it knows the calls of HAL 1.3, and is called
   * in threads of the runtime. In the thread of the caller nothing is won by it, since that waits.
   */
  public boolean takesFences() {
    return isGuarded() && info.featureLevel().isAtLeast(FeatureLevel.V1_3);
  }

  /** Returns whether it takes work: it is neither leaving nor in quarantine. */
  public boolean isServing() {
    return !isLeaving() && !isSuspended();
  }

  /** Returns whether it takes no more calls but those that give something back. */
  public boolean isLeaving() {
    return supervisor.isLeaving();
  }

  boolean isSuspended() {
    return !quarantineReason().isEmpty();
  }

  /** Returns why it is in quarantine; empty when it is not. */
  public String quarantineReason() {
    return supervisor.suspension();
  }

  /** Takes it out of use but for probes, or gives another reason for that. */
  public void suspend(String reason) {
    boolean isNew = !isSuspended();
    supervisor.suspend(reason);
    if (isNew) {
      listener.departing(this);
    }
  }

  /** Lets it serve again. */
  public void resume() {
    supervisor.suspend("");
    listener.arrived(this);
  }

  /** Returns how it has behaved. */
  public DeviceHealth health() {
    return monitor.health(supervisor.stuckCalls());
  }

  /** Returns whether it can map memories of all these kinds: else a failure is no fault of it. */
  public boolean reads(List<SharedMemory> memories) {
    return memories.stream().allMatch(memory -> info.memoryKinds().contains(memory.kind()));
  }

  /** Returns the judge of the device, to report to. */
  public DeviceMonitor monitor() {
    return monitor;
  }

  /**
   * Asks which operations of the main graph the device supports.
   *
   * @param admission WHILE_SERVING, or UNTIL_DEPARTURE for a probe
   * @return what it promised; nothing when it failed to answer
   */
  public Support supportedOperations(Model model, Admission admission) {
    Answer<BitSet> answer =
        supervisor.call(
            terms("supportedOperations", admission),
            (driver, control) -> {
              try (Leases constants = new Leases()) {
                model.pools().forEach(constants::add);
                BitSet promised = driver.supportedOperations(model);
                return promised == null ? null : (BitSet) promised.clone();
              }
            },
            late -> {});
    Support support = Support.of(answer, model.main().operations().size());
    blame("supportedOperations", answer, false);
    if (answer instanceof Answered && support.isBroken()) {
      monitor.failed(ErrorStatus.GENERAL_FAILURE, "supportedOperations: " + support.reason());
    }
    return support;
  }

  /**
   * Prepares a model. The result is owned by the caller, and closed at the latest when the device
   * leaves. The cache files of the config are closed once the device has returned, however late, or
   * was not called.
   *
   * @throws DeviceException with what the device says; DEVICE_UNAVAILABLE when it has left, is in
   *     quarantine or did not answer; MISSED_DEADLINE_PERSISTENT when the deadline comes before the
   *     lower bound of such prepares, and the device was not called
   */
  public DevicePreparedModel prepare(Model model, PrepareConfig config, Admission admission)
      throws DeviceException {
    return prepare(model, config, admission, false);
  }

  /**
   * Restores a model from the cache files of the config; in all else as {@link #prepare}. A device
   * is not to blame when the files do not hold it.
   *
   * @param model what was stored
   */
  public DevicePreparedModel prepareFromCache(Model model, PrepareConfig config)
      throws DeviceException {
    return prepare(model, config, Admission.WHILE_SERVING, true);
  }

  private DevicePreparedModel prepare(
      Model model, PrepareConfig config, Admission admission, boolean restores)
      throws DeviceException {
    ExecutionControl stop = config.control().until(config.deadline());
    Terms terms =
        new Terms(
            restores ? "prepareFromCache" : "prepare",
            admission,
            watched(limit(longestPrepareNanos, settings().prepareMillis())),
            stop);
    PrepareTimes.Alike alike = prepareTimes.of(model, config, restores);
    Answer<DevicePreparedModel> refusal = isServing() ? alike.refusal(config.deadline()) : null;
    Answer<DevicePreparedModel> answer =
        refusal != null
            ? refusal
            : supervisor.call(
                terms,
                (driver, control) -> {
                  try (Leases constants = new Leases()) {
                    model.pools().forEach(constants::add);
                    long start = time().nanoTime();
                    PrepareConfig own = config.with(control);
                    PreparedModel prepared =
                        restores ? driver.prepareFromCache(own) : driver.prepare(model, own);
                    long nanos = time().nanoTime() - start;
                    longestPrepareNanos = Math.max(longestPrepareNanos, nanos);
                    if (prepared == null) {
                      throw failed(restores ? "restored nothing" : "prepared nothing");
                    }
                    alike.took(nanos);
                    Optional<String> staleness = restores ? prepared.staleness() : Optional.empty();
                    return adopt(
                        new DevicePreparedModel(this, prepared, model, staleness, admission));
                  } finally {
                    config.cache().ifPresent(PrepareConfig.Cache::close);
                  }
                },
                late -> {
                  blame("prepare", late, false);
                  late.ifAnswered(DevicePreparedModel::close);
                });
    if (answer instanceof Refused) {
      config.cache().ifPresent(PrepareConfig.Cache::close);
    }
    // A device that ends because it is asked to, or leaves, does nothing wrong.
    boolean isFree = stop.status() == Signal.CONTINUE && !isLeaving();
    blame("prepare", answer, !restores && isFree && reads(model.pools()));
    return answer.orThrow(id);
  }

  /** Reports what a driver threw; exceptions of the HAL only when it is to blame for them. */
  void blame(String call, Answer<?> answer, boolean alsoForExceptions) {
    if (answer instanceof Failed<?> failed && (failed.isBroken() || alsoForExceptions)) {
      monitor.failed(failed.status(), call + ": " + failed.message());
    }
  }

  private DeviceException failed(String what) {
    return DeviceException.failure(id + " " + what);
  }

  /**
   * Allocates a buffer. The result is owned by the caller, and closed at the latest when the device
   * leaves.
   *
   * @param onDeparture called before that, when no call runs on the device any more: the last
   *     moment to copy the contents out
   * @throws DeviceException with what the device says; DEVICE_UNAVAILABLE when it has left, is in
   *     quarantine or did not answer
   */
  public DeviceMemory allocate(
      BufferDesc desc, List<BufferRole> roles, Consumer<DeviceMemory> onDeparture)
      throws DeviceException {
    if (!info.memoryDomain()) {
      throw failed("has no memory of its own");
    }
    Answer<DeviceMemory> answer =
        supervisor.call(
            terms("allocate", Admission.WHILE_SERVING),
            (driver, control) -> {
              DeviceBuffer buffer = driver.allocate(desc, roles);
              if (buffer == null) {
                throw failed("allocated nothing");
              }
              int token = buffer.token();
              DeviceMemory memory = adopt(new DeviceMemory(this, buffer, token, onDeparture));
              if (token <= 0) {
                memory.close();
                throw failed("allocated a buffer with the token " + token);
              }
              open.register(memory);
              return memory;
            },
            late -> late.ifAnswered(DeviceMemory::close));
    // A device that has no room, or no such memory, is not to blame.
    blame("allocate", answer, false);
    return answer.orThrow(id);
  }

  /** Returns the buffer of a token that was allocated here and is open; null if there is none. */
  DeviceBuffer buffer(int token) {
    DeviceMemory memory = open.buffer(token);
    return memory == null ? null : memory.open();
  }

  /** Keeps a resource open until its owner closes it or the device leaves. */
  private <T extends DeviceResource> T adopt(T resource) throws DeviceException {
    if (!keep(resource)) {
      throw new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, id + " left meanwhile");
    }
    return resource;
  }

  /** Keeps a resource open as {@link #adopt} does; closes it and returns false if that is over. */
  boolean keep(DeviceResource resource) {
    if (open.keep(resource)) {
      return true;
    }
    resource.close();
    return false;
  }

  void forget(DeviceResource resource) {
    open.forget(resource);
  }

  /** Has the driver copy from or to a buffer, also while the device leaves or is suspended. */
  Answer<Void> copy(String name, Work<Void> copying) {
    // One that hung once will hardly answer the next time: then nobody waits.
    if (doesNotCopy && !isServing()) {
      return new Refused<>(ErrorStatus.DEVICE_UNAVAILABLE, "it does not answer");
    }
    Answer<Void> answer = supervisor.call(terms(name, Admission.UNTIL_LEFT), copying, late -> {});
    doesNotCopy = answer.isHung();
    return answer;
  }

  /** Closes something of the device, and does not wait for ever for it. */
  void close(String what, Runnable closing) {
    Consumer<Answer<Void>> warn =
        answer -> {
          if (answer instanceof Failed<Void> failed) {
            // The next ones must be closed all the same; there is nobody who could mend this one.
            DeviceRegistry.log().log(
                Level.WARNING, id + " failed to close " + what, failed.thrown());
          }
        };
    warn.accept(supervisor.close(answerTime(), closing, warn));
  }

  Terms terms(String name, Admission admission) {
    return new Terms(name, admission, answerTime());
  }

  private Optional<Duration> answerTime() {
    return watched(Duration.ofMillis(settings().answerMillis()));
  }

  private Optional<Duration> watched(Duration limit) {
    return isReference() ? Optional.empty() : Optional.of(limit);
  }

  /** Returns how long a call may take, when the longest until now took so long. */
  Duration limit(long longestNanos, long floorMillis) {
    return Duration.ofNanos(
        Math.max(longestNanos * settings().executionFactor(), MILLISECONDS.toNanos(floorMillis)));
  }

  /**
   * Waits for the running calls, has the owners of buffers copy out what they still need, and
   * closes buffers and prepared models; forgets the driver. Objects that abandoned calls still use
   * are closed when those return.
   *
   * @param patience how long to wait before the calls that still run are abandoned
   * @return how many calls were abandoned
   */
  int drain(Duration patience) {
    long end = time().nanoTime() + patience.toNanos();
    // Contents are copied out by the last calls of all.
    supervisor.await(end);
    for (DeviceResource resource : open.list()) {
      if (resource instanceof DeviceMemory buffer) {
        buffer.depart();
      }
    }
    // Calls that were given up already are not waited for a second time.
    int left = supervisor.leave(end);
    open.drained();
    monitor.close();
    // A burst ends before the model that it is on.
    open.list().stream().filter(DeviceBurst.class::isInstance).forEach(DeviceResource::close);
    open.list().forEach(DeviceResource::close);
    // Some of them others may have begun to close meanwhile: they are not open when this returns.
    supervisor.await(end);
    return left;
  }

  /** Has all callers go on without an answer, and keeps nothing for a time after. */
  void abandon() {
    permits.leave();
    supervisor.abandon();
    monitor.close();
  }

  @Override
  public String toString() {
    return id;
  }
}
