// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworksException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that execute workloads in turn until this is closed. At a steady rate a request begins
 * when it is due, whether or not earlier ones are over, as long as a thread is free; what is late
 * is made up for. Thread-safe; owns the compilations and the threads.
 */
final class Load implements AutoCloseable {
  /** The rate of a load that never pauses. */
  static final double RESTLESS = Double.POSITIVE_INFINITY;

  private static final long PATIENCE_SECONDS = 60;
  private static final long PAUSE_MILLIS = 1;

  private final List<Workload> workloads;
  private final List<Compilation> compilations = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();
  private final Tally tally;
  private final Assignments assignments;
  private final long periodNanos;
  private final long start;
  private final AtomicLong begun = new AtomicLong();
  private volatile boolean over;

  /**
   * Compiles the workloads; nothing runs yet.
   *
   * @param perSecond requests of all threads together, or {@link #RESTLESS}
   */
  Load(List<Workload> workloads, CompilationOptions options, double perSecond)
      throws NeuralNetworksException {
    this.workloads = workloads;
    this.tally = new Tally(workloads.size());
    this.assignments = new Assignments(workloads);
    this.periodNanos = Math.round(TimeUnit.SECONDS.toNanos(1) / perSecond);
    for (Workload workload : workloads) {
      compilations.add(workload.compile(options));
    }
    start = System.nanoTime();
  }

  void start(int count) {
    tally.begin();
    for (int i = 0; i < count; i++) {
      threads.add(Thread.ofPlatform().name("load-" + i).start(this::work));
    }
  }

  private void work() {
    while (!over) {
      long number = begun.getAndIncrement();
      long due = start + number * periodNanos;
      while (!over && System.nanoTime() - due < 0) {
        LockSupport.parkNanos(due - System.nanoTime());
      }
      if (!over) {
        request(number);
      }
    }
  }

  private void request(long number) {
    int index = (int) (number % workloads.size());
    Workload workload = workloads.get(index);
    int which = (int) (number / workloads.size() % workload.requests());
    List<byte[]> outputs = workload.buffers();
    long began = System.nanoTime();
    ExecutionReport report =
        workload.execution(compilations.get(index), workload.input(which), outputs).compute();
    boolean isRight = report.isSuccess() && workload.isRight(which, outputs);
    tally.add(new Tally.Request(index, began, System.nanoTime(), report, isRight));
    if (report.isSuccess()) {
      assignments.add(index, which, report, outputs);
    }
  }

  /** Returns the results of the requests so far. */
  Tally tally() {
    return tally;
  }

  /** Returns the devices that answered the requests, with one answer of each. */
  Assignments assignments() {
    return assignments;
  }

  /**
   * Waits until each workload was served by a device.
   *
   * @param moment as {@link System#nanoTime} gives it; requests that began before do not count
   */
  Served awaitServed(String device, long moment) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    long planned = Long.MAX_VALUE;
    long first = Long.MAX_VALUE;
    long all = 0;
    boolean[] seen = new boolean[workloads.size()];
    for (int left = seen.length; left > 0; ) {
      if (planned == Long.MAX_VALUE && isPlanned(device)) {
        planned = System.nanoTime() - moment;
      }
      for (int i = 0; i < seen.length; i++) {
        if (!seen[i] && tally.wasServed(i, device, moment)) {
          seen[i] = true;
          left--;
          all = System.nanoTime() - moment;
          first = Math.min(first, all);
        }
      }
      if (System.nanoTime() > end) {
        throw new IllegalStateException(
            device + " does not serve within " + PATIENCE_SECONDS + " s; " + tally.firstTrouble());
      }
      Thread.sleep(PAUSE_MILLIS);
    }
    return Served.ofNanos(Math.min(planned, first), first, all);
  }

  private boolean isPlanned(String device) {
    return compilations.stream()
        .flatMap(compilation -> compilation.plan().steps().stream())
        .anyMatch(step -> step.device().equals(device));
  }

  void awaitRequests(long count) throws InterruptedException {
    while (tally.requests() < count) {
      Thread.sleep(PAUSE_MILLIS);
    }
  }

  /** Ends the threads; the compilations stay open until {@link #close}. */
  void stop() {
    over = true;
    boolean interrupted = false;
    for (Thread thread : threads) {
      while (thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true; // a request ends by itself
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    stop();
    compilations.forEach(Compilation::close);
    compilations.clear();
  }
}
