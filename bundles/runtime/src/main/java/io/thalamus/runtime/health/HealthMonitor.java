// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.health;

import io.thalamus.api.DeviceHealth;
import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.runtime.call.Timekeeper;
import io.thalamus.runtime.registry.DeviceSettings;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The account of what is held against a device, and of its quarantines. Thread-safe.
 *
 * <p>Failures that pass by themselves weigh a quarter of the others. A device that hung or computed
 * something wrong goes into quarantine at once. A quarantine that follows another one soon is twice
 * as long; a device that served for as long as the longest quarantine begins anew.
 */
final class HealthMonitor {
  /** The weight of a failure; of one that passes by itself, see {@link #PASSING}. */
  static final int LASTING = 4;

  static final int PASSING = 1;

  private final Timekeeper time;
  private final Supplier<DeviceSettings> settings;
  private long[] whens = new long[0];
  private int[] weights = new int[0];
  private int next;
  private long failures;
  private long quarantines;
  private long samples;
  private long mismatches;
  private int inRow;
  private long servingSince;
  private Instant until;
  private boolean quarantined;
  private String lastFailure;

  HealthMonitor(Timekeeper time, Supplier<DeviceSettings> settings) {
    this.time = time;
    this.settings = settings;
    this.servingSince = time.nanoTime();
  }

  /** Returns what is known of the device, with the calls that it does not return from. */
  synchronized DeviceHealth snapshot(List<StuckCall> stuck) {
    return new DeviceHealth(
        failures,
        quarantines,
        quarantined ? Optional.of(until) : Optional.empty(),
        samples,
        mismatches,
        stuck,
        Optional.ofNullable(lastFailure));
  }

  /** Counts a step that was executed again on the reference. */
  synchronized void sampled(boolean isSame) {
    samples++;
    if (!isSame) {
      mismatches++;
    }
  }

  /**
   * Counts a failed call.
   *
   * @param what the call, and why it failed
   * @return whether that was one too many, so that the device is to go into quarantine
   */
  synchronized boolean failed(int weight, String what) {
    failures++;
    lastFailure = what;
    if (quarantined) {
      return false;
    }
    DeviceSettings now = settings.get();
    long nanos = time.nanoTime();
    remember(nanos, weight, now.failures() * LASTING);
    long sum = 0;
    for (int i = 0; i < weights.length; i++) {
      if (nanos - whens[i] <= TimeUnit.MILLISECONDS.toNanos(now.windowMillis())) {
        sum += weights[i];
      }
    }
    return sum >= (long) now.failures() * LASTING;
  }

  /** Remembers as many failures as can matter: all of the least weight. */
  private void remember(long nanos, int weight, int capacity) {
    if (whens.length != capacity) {
      whens = new long[capacity];
      weights = new int[capacity];
      next = 0;
    }
    whens[next] = nanos;
    weights[next] = weight;
    next = (next + 1) % capacity;
  }

  /**
   * Puts the device into quarantine.
   *
   * @return how long it lasts; empty when the device is in quarantine already
   */
  synchronized Optional<Duration> quarantine() {
    if (quarantined) {
      return Optional.empty();
    }
    long served = time.nanoTime() - servingSince;
    if (served >= TimeUnit.MILLISECONDS.toNanos(settings.get().longestQuarantineMillis())) {
      inRow = 0;
    }
    quarantined = true;
    quarantines++;
    return Optional.of(prolong());
  }

  /** Begins the quarantine, or prolongs it since a probe failed; returns how long it lasts. */
  synchronized Duration prolong() {
    inRow++;
    DeviceSettings now = settings.get();
    long longest = now.longestQuarantineMillis();
    long millis = now.quarantineMillis();
    for (int i = 1; i < inRow && millis < longest; i++) {
      millis *= 2;
    }
    Duration delay = Duration.ofMillis(Math.min(millis, longest));
    until = time.now().plus(delay);
    return delay;
  }

  /** Ends the quarantine: the probe passed. */
  synchronized void release() {
    quarantined = false;
    servingSince = time.nanoTime();
    whens = new long[0];
    weights = new int[0];
  }
}
