// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The second stage of compilations, one after the other on a thread of its own, which is started
 * with the first of them and joined by {@link #close}. Thread-safe. A model that is closed is let
 * go, unless its program is to be cached.
 *
 * <p>Models of higher priority go first. One that came earlier than another by {@link #RISE_NANOS}
 * for each priority between them goes before it, so that nothing starves.
 */
final class SecondStage implements AutoCloseable {
  /** The time of some searches. */
  static final long RISE_NANOS = Duration.ofSeconds(10).toNanos();

  private final NanoClock clock;

  /** In the order of arrival. */
  private final List<Job> waiting = new ArrayList<>();

  private Thread thread;
  private volatile boolean closed;

  /** Makes the better program of a model. Closed when it is done, or will not be. */
  interface Work extends AutoCloseable {
    /** The program; of any quality once it is asked to stop. */
    Program compile(BooleanSupplier isStopped) throws DeviceException;

    /** Returns whether the program is wanted even when nothing runs the model any more. */
    boolean isCached();

    /** Stores the program for others. */
    void store(Program better);

    @Override
    void close();
  }

  /**
   * The search for one model.
   *
   * @param rankNanos the moment of its arrival, or earlier for a higher priority
   */
  private record Job(NpuPreparedModel model, Work work, long rankNanos) {}

  /** A stage that ranks models by the time of a clock. */
  SecondStage(NanoClock clock) {
    this.clock = clock;
  }

  boolean isClosed() {
    return closed;
  }

  /** Has the program of a model replaced, in a while. */
  synchronized void submit(NpuPreparedModel model, Work work) {
    if (closed) {
      work.close();
      return;
    }
    long rank = clock.nanoTime() - model.priority().ordinal() * RISE_NANOS;
    waiting.add(new Job(model, work, rank));
    if (thread == null) {
      thread = Thread.ofPlatform().name("thalamus-npu-search").daemon().start(this::run);
    }
    notifyAll();
  }

  /** Takes a model back that was closed, unless its program is to be cached. */
  synchronized void withdraw(NpuPreparedModel model) {
    waiting.removeIf(
        job -> {
          boolean isUnwanted = job.model == model && !job.work.isCached();
          if (isUnwanted) {
            job.work.close();
          }
          return isUnwanted;
        });
  }

  private void run() {
    // No variable here refers to a job: this frame would hold its model while none waits.
    while (runNext()) {}
  }

  private boolean runNext() {
    Job job = next();
    if (job == null) {
      return false;
    }
    run(job);
    return true;
  }

  private void run(Job job) {
    try (Work work = job.work) {
      BooleanSupplier isStopped = () -> closed || (job.model.isReleased() && !work.isCached());
      Program better = isStopped.getAsBoolean() ? null : work.compile(isStopped);
      if (better != null && !isStopped.getAsBoolean()) {
        job.model.replace(better);
        work.store(better);
      }
    } catch (DeviceException e) {
      job.model.keep(e);
    } catch (RuntimeException e) {
      // The thread lives on for the models behind this one, which runs as it did.
      job.model.keep(
          new DeviceException(ErrorStatus.GENERAL_FAILURE, "the second stage failed: " + e, e));
    }
  }

  private synchronized Job next() {
    try {
      while (waiting.isEmpty() && !closed) {
        wait();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
    return closed ? null : takeFirst();
  }

  private Job takeFirst() {
    Job first = waiting.getFirst();
    for (Job job : waiting) {
      first = job.rankNanos - first.rankNanos < 0 ? job : first;
    }
    waiting.remove(first);
    return first;
  }

  /** Stops what is under way and ends the thread. */
  @Override
  public void close() {
    Thread running;
    synchronized (this) {
      closed = true;
      waiting.forEach(job -> job.work.close());
      waiting.clear();
      notifyAll();
      running = thread;
    }
    if (running == null) {
      return;
    }
    boolean interrupted = false;
    while (running.isAlive()) {
      try {
        running.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
