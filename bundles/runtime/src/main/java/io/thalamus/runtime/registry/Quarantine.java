// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.model.ErrorStatus;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;

/**
 * Decides whether a device is used: takes it out of use when it fails too often, and lets it back
 * when a probe passes. Thread-safe. Owns what a device that computed wrongly has to compute again.
 */
final class Quarantine {
  private static final System.Logger LOG = System.getLogger(Quarantine.class.getPackageName());

  /** With so many threads stuck in it, a device is not even probed. */
  private static final int MOST_STUCK = 4;

  private final RegisteredDevice device;
  private final HealthMonitor health;
  private final Watch watch;
  private final Object lock = new Object();
  private Optional<Recheck> recheck = Optional.empty();

  Quarantine(RegisteredDevice device, HealthMonitor health, Watch watch) {
    this.device = device;
    this.health = health;
    this.watch = watch;
  }

  /**
   * Holds a failed call against the device. What the caller did wrong, or the time, does not count;
   * what passes by itself counts little. What it never can do says nothing of the rest.
   */
  void failed(ErrorStatus status, String what) {
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
    if (weight > 0 && health.failed(weight)) {
      quarantine("it failed too often, at last: " + what);
    }
  }

  void hung(GuardedCall<?> call) {
    health.failed(HealthMonitor.LASTING);
    quarantine(call.name() + " did not return in time");
  }

  /** A step was executed again on the reference, which said the same. */
  void agreed() {
    health.sampled(true);
  }

  /**
   * A step was executed again on the reference, which said something else.
   *
   * @param again to be right before the device comes back; is closed here
   */
  void disagreed(String difference, Optional<Recheck> again) {
    health.sampled(false);
    // Where the device is in quarantine already, what brought it there is reason enough.
    if (!quarantine("it computed something wrong: " + difference, again)) {
      again.ifPresent(Recheck::close);
    }
  }

  private void quarantine(String reason) {
    quarantine(reason, Optional.empty());
  }

  /**
   * Takes the device out of use.
   *
   * @return whether it was in use
   */
  private boolean quarantine(String reason, Optional<Recheck> again) {
    // Without the reference, nothing would be left to answer.
    if (device.isReference()) {
      LOG.log(Level.WARNING, "device {0}, the reference: {1}", device.id(), reason);
      return false;
    }
    Optional<Duration> delay = health.quarantine(reason);
    if (delay.isEmpty()) {
      return false;
    }
    LOG.log(
        Level.WARNING,
        "device {0} goes into quarantine for {1} ms: {2}",
        device.id(),
        delay.get().toMillis(),
        reason);
    keep(again);
    watch.onQuarantine().accept(device);
    watch.time().after(delay.get(), this::probe);
    return true;
  }

  private void keep(Optional<Recheck> again) {
    exchange(again);
    if (device.isLeaving()) {
      forget(); // it may have done so before there was anything to forget
    }
  }

  /** Lets go of what the device would have to compute again; to be called when it has left. */
  void forget() {
    exchange(Optional.empty());
  }

  private void exchange(Optional<Recheck> next) {
    Optional<Recheck> old;
    synchronized (lock) {
      old = recheck;
      recheck = next;
    }
    old.ifPresent(Recheck::close);
  }

  private void probe() {
    if (device.isLeaving()) {
      return;
    }
    int stuck = device.calls().stuck().size();
    Optional<String> failure =
        stuck >= MOST_STUCK ? Optional.of(stuck + " calls of it have not returned") : fails();
    if (failure.isPresent()) {
      Duration delay = health.prolong(failure.get());
      LOG.log(
          Level.WARNING,
          "device {0} stays in quarantine for {1} ms: {2}",
          device.id(),
          delay.toMillis(),
          failure.get());
      watch.time().after(delay, this::probe);
      return;
    }
    if (device.isLeaving()) {
      return;
    }
    forget();
    health.release();
    LOG.log(Level.INFO, "device {0} comes back from quarantine", device.id());
    watch.onReturn().accept(device);
  }

  /** Why the device does not come back: known answers first, then what it computed wrongly. */
  private Optional<String> fails() {
    Optional<String> failure = Probe.fails(device);
    Optional<Recheck> again;
    synchronized (lock) {
      again = recheck;
    }
    return failure.isPresent() ? failure : again.flatMap(kept -> kept.fails(device));
  }
}
