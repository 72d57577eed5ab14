// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.model.NanoClock;
import io.thalamus.model.Priority;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.call.RuntimeThreads;
import io.thalamus.runtime.schedule.FairQueue;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;

/**
 * The threads of asynchronous executions. Thread-safe; a bounded number, which end when they have
 * nothing to do, and with the runtime.
 *
 * <p>Waiting executions are served in the order of a {@link FairQueue}: applications in turn, and
 * higher priorities first. An execution keeps its thread while it stands back for another, and what
 * has waited for long goes before what is urgent. So a thread is kept for what has no low priority,
 * and as many as for all others for what has a high one: that meets others at the device alone,
 * which can make them stand back.
 */
@Component(service = AsyncThreads.class)
public final class AsyncThreads implements AutoCloseable {
  /** The most executions of one application and priority that may wait. */
  private static final int WAITING = 1_024;

  private static final int IDLE_SECONDS = 10;

  private final Set<AsyncRun> unfinished = ConcurrentHashMap.newKeySet();
  private final ThreadPoolExecutor threads;
  private final NanoClock clock;

  /** The threads for executions of medium priority. */
  private final int count;

  private final Object lock = new Object();

  /** Under the lock. */
  private final FairQueue<AsyncRun> queue = new FairQueue<>(WAITING);

  /** The threads that execute something of each priority. Under the lock. */
  private final int[] busy = new int[Priority.values().length];

  /** The mean time between the ends of two executions while many wait; 0 before the first. */
  private volatile double intervalNanos;

  /** Threads by the clock of the machine. */
  @Activate
  public AsyncThreads() {
    this(System::nanoTime);
  }

  /** As many threads as twice the processors: executions wait for devices as well as compute. */
  public AsyncThreads(NanoClock clock) {
    this.clock = clock;
    count = Math.max(4, 2 * Runtime.getRuntime().availableProcessors());
    threads =
        RuntimeThreads.pool(
            "thalamus-async-", most(Priority.HIGH), IDLE_SECONDS, new LinkedBlockingQueue<>());
  }

  /** Returns how many threads may execute something of this priority or a lower one. */
  int most(Priority priority) {
    return switch (priority) {
      case LOW -> count - 1;
      case MEDIUM -> count;
      case HIGH -> 2 * count;
    };
  }

  /** Returns the ordinal of the lowest priority that may have one more thread; under the lock. */
  private int least() {
    int least = 0;
    int sum = 0;
    for (Priority priority : Priority.values()) {
      sum += busy[priority.ordinal()];
      least = sum < most(priority) ? least : priority.ordinal() + 1;
    }
    return least;
  }

  /** Begins or ends what a thread executes; under the lock. */
  private void count(AsyncRun run, boolean begins) {
    busy[run.priority().ordinal()] += begins ? 1 : -1;
    queue.running(run.application(), begins);
  }

  /** Runs an execution later; it fails where too many wait, or the runtime has stopped. */
  void submit(AsyncRun run) {
    unfinished.add(run);
    boolean isServed;
    synchronized (lock) {
      isServed = run.control().standing().priority().ordinal() >= least();
      if (isServed) {
        count(run, true);
      } else {
        run.entry = queue.add(run.control(), clock.nanoTime(), run);
      }
    }
    run.whenComplete((report, failure) -> forget(run));
    if (isServed) {
      start(run);
    } else if (run.entry == null) {
      run.refuse(
          Cause.QUEUE_FULL.report(
              WAITING + " of one application and priority are too many", untilRoom(run)));
    }
    if (threads.isShutdown() && !run.isDone()) {
      run.refuse(Cause.RUNTIME_STOPPED.report());
    }
  }

  private void start(AsyncRun first) {
    try {
      threads.execute(() -> serve(first));
    } catch (RejectedExecutionException e) {
      // The runtime has stopped, which answers all others too.
      first.refuse(Cause.RUNTIME_STOPPED.report());
      synchronized (lock) {
        count(first, false);
      }
    }
  }

  /** Executes one, and what is next until nothing is left for this thread. */
  private void serve(AsyncRun first) {
    for (AsyncRun run = first; run != null; ) {
      AsyncRun next;
      long start = clock.nanoTime();
      boolean isOver = false;
      try {
        run.run();
        isOver = true;
      } finally {
        next = next(run, clock.nanoTime() - start - run.waitedNanos());
        if (!isOver && next != null) {
          // This thread ends by what was thrown.
          start(next);
        }
      }
      run = next;
    }
  }

  /** Ends an execution and takes the next one; null where the thread is kept for others. */
  private AsyncRun next(AsyncRun ended, long nanos) {
    synchronized (lock) {
      queue.charge(ended.application(), nanos);
      count(ended, false);
      return take(clock.nanoTime());
    }
  }

  /** Takes the next execution; null where none may begin; under the lock. */
  private AsyncRun take(long now) {
    FairQueue.Entry<AsyncRun> next = queue.peek(now, least());
    if (next == null) {
      return null;
    }
    // First: who is never idle in between keeps what is due to it.
    count(next.item(), true);
    queue.take(next, now);
    return next.item();
  }

  /**
   * Has all that an execution waits for inherit its rank, and what these wait for, until they end.
   */
  void inherit(AsyncRun urgent) {
    Deque<AsyncRun> left = new ArrayDeque<>(urgent.behind());
    while (!left.isEmpty()) {
      AsyncRun each = left.remove();
      if (!each.isDone() && each.control().inherit(urgent.control())) {
        rerank(each);
        left.addAll(each.behind());
      }
    }
  }

  private void rerank(AsyncRun run) {
    AsyncRun first = null;
    synchronized (lock) {
      // Others are of another runtime.
      if (run.entry != null && unfinished.contains(run)) {
        long now = clock.nanoTime();
        queue.rerank(run.entry, run.control(), now);
        first = take(now);
      }
    }
    if (first != null) {
      start(first);
    }
  }

  private void forget(AsyncRun run) {
    unfinished.remove(run);
    if (run.entry != null) {
      synchronized (lock) {
        queue.remove(run.entry);
      }
    }
  }

  /**
   * Learns how long an execution took. The wait for a device is not part of it: it is long while
   * others crowd the device, and says nothing of the time after that.
   *
   * @param together how many can be executed at once
   */
  void took(long nanos, int together) {
    double latest = (double) Math.max(1, nanos) / Math.min(together, count);
    // Two threads may overwrite each other's mean: an estimate is all it is.
    intervalNanos = FairQueue.mean(intervalNanos, latest);
  }

  /**
   * Returns the time until what waits now has had its turn: as many as wait, times the mean time of
   * one, shared by those that are executed together; empty before the first has ended.
   */
  Optional<Duration> untilServed() {
    double interval = intervalNanos;
    long waiting;
    synchronized (lock) {
      waiting = queue.size() + 1L;
    }
    return interval == 0
        ? Optional.empty()
        : Optional.of(Duration.ofNanos((long) Math.ceil(interval * waiting)));
  }

  /** Promises room to one that was refused; empty before the first has ended. */
  private Optional<Duration> untilRoom(AsyncRun refused) {
    double interval = intervalNanos;
    if (interval == 0) {
      return Optional.empty();
    }
    synchronized (lock) {
      return Optional.of(queue.untilRoom(refused.control(), clock.nanoTime(), interval));
    }
  }

  /** Ends all executions and the threads. */
  @Deactivate
  @Override
  public void close() {
    threads.shutdown();
    unfinished.forEach(AsyncRun::stop);
    RuntimeThreads.join(threads);
  }
}
