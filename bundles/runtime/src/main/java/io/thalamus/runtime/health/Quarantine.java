// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.health;

import io.thalamus.api.DeviceHealth;
import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.events.QuarantineEvent;
import io.thalamus.runtime.registry.DeviceMonitor;
import io.thalamus.runtime.registry.Probe;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The judge of a device: suspends it when it fails too often, and resumes it when a probe passes.
 * Thread-safe. Owns the probe of what a device computed wrongly.
 */
final class Quarantine implements DeviceMonitor {
  /** With so many threads stuck in it, a device is not even probed. */
  private static final int MOST_STUCK = 4;

  private final RegisteredDevice device;
  private final HealthMonitor health;
  private final Object lock = new Object();
  private Optional<? extends Probe> replay = Optional.empty();

  Quarantine(RegisteredDevice device) {
    this.device = device;
    this.health = new HealthMonitor(device.time(), device::settings);
  }

  @Override
  public DeviceHealth health(List<StuckCall> stuck) {
    return health.snapshot(stuck);
  }

  /**
   * Holds a failed call against the device. A mistake of the caller or a missed deadline does not
   * count, a failure that passes by itself counts little. A request that is too large for the
   * device says nothing of the rest.
   */
  @Override
  public void failed(ErrorStatus status, String what) {
    int weight =
        switch (status) {
          case GENERAL_FAILURE -> HealthMonitor.LASTING;
          case DEVICE_UNAVAILABLE, RESOURCE_EXHAUSTED_TRANSIENT -> HealthMonitor.PASSING;
          case NONE,
              OUTPUT_INSUFFICIENT_SIZE,
              INVALID_ARGUMENT,
              MISSED_DEADLINE_TRANSIENT,
              MISSED_DEADLINE_PERSISTENT,
              RESOURCE_EXHAUSTED_PERSISTENT ->
              0;
        };
    if (weight == 0) {
      return;
    }
    if (weight == HealthMonitor.LASTING) {
      tell(what); // what passes by itself also comes from a device that is about to leave
    }
    if (health.failed(weight, what)) {
      quarantine("it failed too often, at last: " + what, Optional.empty());
    }
  }

  /** Logs a failure, and none that is like the one before it. */
  private void tell(String what) {
    if (!health.snapshot(List.of()).lastFailure().equals(Optional.of(what))) {
      log().log(Level.WARNING, "device {0} failed: {1}", device.id(), what);
    }
  }

  @Override
  public void hung(String call) {
    health.failed(HealthMonitor.LASTING, call + " did not return in time");
    quarantine(call + " did not return in time", Optional.empty());
  }

  @Override
  public void agreed() {
    health.sampled(true);
  }

  @Override
  public void disagreed(String difference, Optional<? extends Probe> again) {
    health.sampled(false);
    // One reason is enough for a device that is in quarantine already.
    if (!quarantine("it computed something wrong: " + difference, again)) {
      again.ifPresent(Probe::close);
    }
  }

  /**
   * Suspends the device.
   *
   * @return whether it served before
   */
  private boolean quarantine(String reason, Optional<? extends Probe> again) {
    // Without the reference, nothing would be left to answer.
    if (device.isReference()) {
      log().log(Level.WARNING, "device {0}, the reference: {1}", device.id(), reason);
      return false;
    }
    Optional<Duration> delay = health.quarantine();
    if (delay.isEmpty()) {
      return false;
    }
    log()
        .log(
            Level.WARNING,
            "device {0} goes into quarantine for {1} ms: {2}",
            device.id(),
            delay.get().toMillis(),
            reason);
    QuarantineEvent.tell(device.id(), "begins", reason, delay.get());
    exchange(again);
    if (device.isLeaving()) {
      close(); // the departure may have closed it before there was a probe
    }
    device.suspend(reason);
    device.time().after(delay.get(), this::probe);
    return true;
  }

  @Override
  public void close() {
    exchange(Optional.empty());
  }

  private void exchange(Optional<? extends Probe> next) {
    Optional<? extends Probe> old;
    synchronized (lock) {
      old = replay;
      replay = next;
    }
    old.ifPresent(Probe::close);
  }

  private void probe() {
    if (device.isLeaving()) {
      return;
    }
    int stuck = device.health().stuckCalls().size();
    Optional<String> failure =
        stuck >= MOST_STUCK ? Optional.of(stuck + " calls of it have not returned") : failure();
    if (failure.isPresent()) {
      Duration delay = health.prolong();
      device.suspend(failure.get());
      log()
          .log(
              Level.WARNING,
              "device {0} stays in quarantine for {1} ms: {2}",
              device.id(),
              delay.toMillis(),
              failure.get());
      QuarantineEvent.tell(device.id(), "goes on", failure.get(), delay);
      device.time().after(delay, this::probe);
      return;
    }
    if (device.isLeaving()) {
      return;
    }
    close();
    log().log(Level.INFO, "device {0} comes back from quarantine", device.id());
    QuarantineEvent.tell(device.id(), "ends", "", Duration.ZERO);
    device.resume();
    // Last: a failure before that does not suspend the device while it is being resumed.
    health.release();
  }

  /** Returns why the device does not come back: known answers first, then the wrong one again. */
  private Optional<String> failure() {
    Optional<? extends Probe> again;
    synchronized (lock) {
      again = replay;
    }
    try {
      return KnownAnswerProbe.failure(device).or(() -> again.flatMap(kept -> kept.failure(device)));
    } catch (SharedMemoryException.Exhausted e) {
      return Optional.of("it could not be tried: " + e.getMessage());
    }
  }

  private static System.Logger log() {
    return System.getLogger(Quarantine.class.getPackageName());
  }
}
