// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.ResultCode;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;

/** Counts what came of requests. Thread-safe. */
final class Tally {
  private static final double NANOS_PER_MILLI = 1e6;

  private final int workloads;
  private final AtomicLong requests = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();
  private final AtomicLong wrong = new AtomicLong();
  private final AtomicLong repeated = new AtomicLong();
  private final AtomicLong longest = new AtomicLong();
  private final AtomicLong longestPause = new AtomicLong();
  private final AtomicLong lastEnd = new AtomicLong(System.nanoTime());
  private final ConcurrentMap<String, OnDevice> onDevices = new ConcurrentHashMap<>();
  private final AtomicReference<String> trouble = new AtomicReference<>();

  Tally(int workloads) {
    this.workloads = workloads;
  }

  /**
   * A request that is over.
   *
   * @param workload its index
   * @param began as {@link System#nanoTime} gave it
   */
  record Request(int workload, long began, long ended, ExecutionReport report, boolean isRight) {}

  /** The requests that one device has served. */
  private static final class OnDevice {
    private final AtomicLong count = new AtomicLong();

    /** By workload, when the request that began last had begun; 0 for none. */
    private final AtomicLongArray lastBegan;

    OnDevice(int workloads) {
      lastBegan = new AtomicLongArray(workloads);
    }
  }

  /** From now on the absence of answers is a pause. */
  void begin() {
    lastEnd.set(System.nanoTime());
  }

  void add(Request request) {
    longest.accumulateAndGet(request.ended() - request.began(), Math::max);
    long end = request.ended();
    long before = lastEnd.getAndAccumulate(end, (old, now) -> now - old > 0 ? now : old);
    longestPause.accumulateAndGet(end - before, Math::max);
    ExecutionReport report = request.report();
    if (report.steps().stream().anyMatch(step -> step.code() != ResultCode.NO_ERROR)) {
      repeated.incrementAndGet();
    }
    if (!report.isSuccess()) {
      failed.incrementAndGet();
      trouble.compareAndSet(null, report.code() + " " + report.message());
    } else if (!request.isRight()) {
      wrong.incrementAndGet();
      trouble.compareAndSet(null, "wrong outputs, ran on " + report.steps());
    }
    for (String device : devices(report)) {
      OnDevice on = onDevices.computeIfAbsent(device, name -> new OnDevice(workloads));
      on.count.incrementAndGet();
      on.lastBegan.accumulateAndGet(request.workload(), request.began(), Tally::later);
    }
    // At last: whoever waits for a number of requests finds all else counted.
    requests.incrementAndGet();
  }

  private static long later(long some, long other) {
    return some == 0 || other - some > 0 ? other : some;
  }

  /** The devices that steps succeeded on. */
  private static Set<String> devices(ExecutionReport report) {
    Set<String> devices = new LinkedHashSet<>();
    for (StepReport step : report.steps()) {
      if (step.code() == ResultCode.NO_ERROR) {
        devices.add(step.device());
      }
    }
    return devices;
  }

  /** Returns true if a request of a workload that began later than a moment ran on a device. */
  boolean wasServed(int workload, String device, long moment) {
    OnDevice on = onDevices.get(device);
    long began = on == null ? 0 : on.lastBegan.get(workload);
    return began != 0 && began - moment >= 0;
  }

  long requests() {
    return requests.get();
  }

  long failed() {
    return failed.get();
  }

  long wrong() {
    return wrong.get();
  }

  /** Requests of which a step was given up on one device and repeated on another. */
  long repeated() {
    return repeated.get();
  }

  /** Requests, by the devices that their reports name. */
  Map<String, Long> onDevices() {
    Map<String, Long> counts = new TreeMap<>();
    onDevices.forEach((device, on) -> counts.put(device, on.count.get()));
    return counts;
  }

  /** The share of the requests that ran on a device. */
  double share(String device) {
    return (double) onDevices().getOrDefault(device, 0L) / Math.max(1, requests());
  }

  /** The longest request. */
  double longestMillis() {
    return longest.get() / NANOS_PER_MILLI;
  }

  /** The longest time without an answer to any request. */
  double longestPauseMillis() {
    return longestPause.get() / NANOS_PER_MILLI;
  }

  Optional<String> firstTrouble() {
    return Optional.ofNullable(trouble.get());
  }

  /** Tells how the requests went, and promises that none failed or was wrong. */
  void tell(Figures figures) {
    figures.figure("requests", requests());
    figures.figure("failed", failed());
    figures.figure("wrong", wrong());
    figures.figure("repeatedElsewhere", repeated());
    onDevices().forEach((device, count) -> figures.figure("on." + device, count));
    figures.decimal("longestRequestMillis", longestMillis());
    figures.decimal("longestPauseMillis", longestPauseMillis());
    firstTrouble().ifPresent(what -> figures.figure("firstTrouble", what));
    figures.promise("no request fails", failed() == 0);
    figures.promise("no request is answered wrongly", wrong() == 0);
  }
}
