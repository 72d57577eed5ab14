// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * Threads that execute workloads in turn at a steady rate until this is closed: a request begins
 * when it is due, whether or not earlier ones are over, as long as a thread is free. Thread-safe;
 * owns the compilations and the threads.
 */
final class SteadyLoad implements AutoCloseable {
  private static final double MILLION = 1e6;

  private final List<Workload> workloads;
  private final List<Compilation> compilations = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();
  private final long periodNanos;
  private final long start;
  private final AtomicLong begun = new AtomicLong();
  private final AtomicLong requests = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();
  private final AtomicLong wrong = new AtomicLong();
  private final AtomicLong repeated = new AtomicLong();
  private final AtomicLong longest = new AtomicLong();
  private final AtomicLong longestPause = new AtomicLong();
  private final AtomicLong lastEnd = new AtomicLong();
  private final ConcurrentMap<String, AtomicLong> onDevice = new ConcurrentHashMap<>();
  private final ConcurrentMap<Assignment, List<byte[]>> results = new ConcurrentHashMap<>();
  private final AtomicLong differing = new AtomicLong();
  private final AtomicReference<String> trouble = new AtomicReference<>();
  private volatile boolean over;

  /**
   * What a request was answered by: the steps that succeeded, each as device and operations.
   *
   * @param workload its index
   * @param request which of its requests
   */
  record Assignment(int workload, int request, List<Part> parts) {
    /** So many operations at once on a device. */
    record Part(String device, int operations) {}

    /** The devices, each once, in the order of their steps. */
    List<String> devices() {
      return parts.stream().map(Part::device).distinct().toList();
    }
  }

  SteadyLoad(List<Workload> workloads, CompilationOptions options, double perSecond)
      throws NeuralNetworksException {
    this.workloads = workloads;
    this.periodNanos = Math.max(1, Math.round(TimeUnit.SECONDS.toNanos(1) / perSecond));
    for (Workload workload : workloads) {
      compilations.add(workload.compile(options));
    }
    start = System.nanoTime();
    lastEnd.set(start);
  }

  void start(int count) {
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
    long end = System.nanoTime();
    longest.accumulateAndGet(end - began, Math::max);
    long before = lastEnd.getAndAccumulate(end, (old, now) -> now - old > 0 ? now : old);
    longestPause.accumulateAndGet(end - before, Math::max);
    requests.incrementAndGet();
    if (report.steps().stream().anyMatch(step -> step.code() != ResultCode.NO_ERROR)) {
      repeated.incrementAndGet();
    }
    if (!report.isSuccess()) {
      failed.incrementAndGet();
      trouble.compareAndSet(null, report.code() + " " + report.message());
      return;
    }
    if (!workload.isRight(which, outputs)) {
      wrong.incrementAndGet();
      trouble.compareAndSet(null, "wrong outputs, ran on " + report.steps());
    }
    remember(new Assignment(index, which, parts(report)), outputs);
  }

  private static List<Assignment.Part> parts(ExecutionReport report) {
    return report.steps().stream()
        .filter(step -> step.code() == ResultCode.NO_ERROR)
        .map(step -> new Assignment.Part(step.device(), step.operations()))
        .toList();
  }

  private void remember(Assignment assignment, List<byte[]> outputs) {
    for (String device : assignment.devices()) {
      onDevice.computeIfAbsent(device, name -> new AtomicLong()).incrementAndGet();
    }
    List<byte[]> first = results.putIfAbsent(assignment, outputs);
    if (first != null && !equal(first, outputs)) {
      differing.incrementAndGet();
      trouble.compareAndSet(null, "two results on " + assignment);
    }
  }

  private static boolean equal(List<byte[]> some, List<byte[]> others) {
    for (int i = 0; i < some.size(); i++) {
      if (!Arrays.equals(some.get(i), others.get(i))) {
        return false;
      }
    }
    return true;
  }

  /** How often results were replayed, and what came of it. */
  record Replays(int same, int different, List<String> notReplayable) {}

  /**
   * Executes again, on exactly the devices that answered, one request of each assignment that was
   * reported: all results of one assignment were the same, or {@link #differing} says otherwise.
   *
   * @throws NeuralNetworksException where a device is not here
   */
  Replays replay() throws NeuralNetworksException {
    int same = 0;
    int different = 0;
    List<String> notReplayable = new ArrayList<>();
    for (Map.Entry<Assignment, List<byte[]>> each : results.entrySet()) {
      Assignment assignment = each.getKey();
      Workload workload = workloads.get(assignment.workload());
      CompilationOptions exactly =
          CompilationOptions.DEFAULT
              .withDevices(assignment.devices())
              .with(CompilationOptions.Fallback.DENY);
      try (Compilation compilation = workload.compile(exactly)) {
        List<byte[]> outputs = workload.buffers();
        ExecutionReport report =
            workload
                .execution(compilation, workload.input(assignment.request()), outputs)
                .compute();
        if (!report.isSuccess() || !parts(report).equals(assignment.parts())) {
          notReplayable.add(assignment.parts() + ": " + report.code() + " " + report.steps());
        } else if (equal(outputs, each.getValue())) {
          same++;
        } else {
          different++;
        }
      }
    }
    return new Replays(same, different, notReplayable);
  }

  void awaitRequests(long count) throws InterruptedException {
    while (requests.get() < count) {
      Thread.sleep(1);
    }
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

  /** Results that differ from another one of the same request on the same assignment. */
  long differing() {
    return differing.get();
  }

  /** Requests of which a step was given up on one device and repeated on another. */
  long repeated() {
    return repeated.get();
  }

  /** Requests, by the devices that their reports name. */
  Map<String, Long> onDevices() {
    return onDevice.entrySet().stream()
        .collect(
            Collectors.toMap(
                Map.Entry::getKey, entry -> entry.getValue().get(), Long::sum, TreeMap::new));
  }

  /** The longest request. */
  double longestMillis() {
    return longest.get() / MILLION;
  }

  /** The longest time without an answer to any request. */
  double longestPauseMillis() {
    return longestPause.get() / MILLION;
  }

  Optional<String> firstTrouble() {
    return Optional.ofNullable(trouble.get());
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
