// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Threads that execute workloads in turn until this is closed, and count how that goes.
 * Thread-safe; owns the compilations and the threads.
 */
final class Load implements AutoCloseable {
  private static final long PATIENCE_SECONDS = 60;
  private static final long PAUSE_MILLIS = 1;
  private static final double MILLION = 1e6;

  private final List<Workload> workloads;
  private final List<Compilation> compilations = new ArrayList<>();
  private final String device;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicLong requests = new AtomicLong();
  private final AtomicLong onDevice = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();
  private final AtomicLong wrong = new AtomicLong();
  private final AtomicLong repeated = new AtomicLong();
  private final AtomicReference<String> trouble = new AtomicReference<>();

  /** When the last request of each workload that the device served had begun. */
  private final AtomicLongArray begunAt;

  private volatile boolean over;

  Load(List<Workload> workloads, CompilationOptions options, String device)
      throws NeuralNetworksException {
    this.workloads = workloads;
    this.device = device;
    this.begunAt = new AtomicLongArray(workloads.size());
    for (Workload workload : workloads) {
      compilations.add(workload.compile(options));
    }
  }

  void start(int count) {
    for (int i = 0; i < count; i++) {
      int first = i;
      threads.add(Thread.ofPlatform().name("load-" + i).start(() -> work(first)));
    }
  }

  private void work(int first) {
    for (int i = first; !over; i++) {
      int index = i % workloads.size();
      long begun = System.nanoTime();
      Workload.Answer answer = workloads.get(index).run(compilations.get(index), i);
      count(index, begun, answer);
    }
  }

  private void count(int index, long begun, Workload.Answer answer) {
    ExecutionReport report = answer.report();
    requests.incrementAndGet();
    if (!report.isSuccess()) {
      failed.incrementAndGet();
      trouble.compareAndSet(null, report.code() + " " + report.message());
    } else if (!answer.isRight()) {
      wrong.incrementAndGet();
      trouble.compareAndSet(null, "wrong outputs, ran on " + report.steps());
    }
    if (report.steps().stream().anyMatch(step -> step.code() != ResultCode.NO_ERROR)) {
      repeated.incrementAndGet();
    }
    if (answer.ranOn(device)) {
      onDevice.incrementAndGet();
      begunAt.set(index, begun);
    }
  }

  /**
   * How long after a moment requests that began later were served by the device.
   *
   * @param plannedMillis a compilation had moved to the device
   * @param firstMillis the first of any workload
   * @param allMillis the first of each workload
   */
  record Served(double plannedMillis, double firstMillis, double allMillis) {}

  /**
   * Waits until each workload was served by the device.
   *
   * @param moment as {@link System#nanoTime} gives it
   */
  Served awaitServed(long moment) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    long planned = Long.MAX_VALUE;
    long first = Long.MAX_VALUE;
    long all = 0;
    boolean[] seen = new boolean[workloads.size()];
    for (int left = seen.length; left > 0; ) {
      if (planned == Long.MAX_VALUE && isPlanned()) {
        planned = System.nanoTime() - moment;
      }
      for (int i = 0; i < seen.length; i++) {
        long begun = begunAt.get(i);
        if (!seen[i] && begun != 0 && begun - moment >= 0) {
          seen[i] = true;
          left--;
          long after = Math.max(0, System.nanoTime() - moment);
          first = Math.min(first, after);
          all = after;
        }
      }
      if (System.nanoTime() > end) {
        throw new IllegalStateException(
            device + " does not serve within " + PATIENCE_SECONDS + " s; " + trouble.get());
      }
      Thread.sleep(PAUSE_MILLIS);
    }
    return new Served(Math.min(planned, first) / MILLION, first / MILLION, all / MILLION);
  }

  private boolean isPlanned() {
    return compilations.stream()
        .flatMap(compilation -> compilation.plan().steps().stream())
        .anyMatch(step -> step.device().equals(device));
  }

  void awaitRequests(long count) throws InterruptedException {
    while (requests.get() < count) {
      Thread.sleep(PAUSE_MILLIS);
    }
  }

  long requests() {
    return requests.get();
  }

  long onDevice() {
    return onDevice.get();
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

  Optional<String> firstTrouble() {
    return Optional.ofNullable(trouble.get());
  }

  @Override
  public void close() {
    over = true;
    boolean interrupted = false;
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    compilations.forEach(Compilation::close);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
