// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.tiles;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;

/**
 * The threads of the device. They help whoever executes with the tiles of long steps: the caller
 * takes part itself and never depends on them. Thread-safe. Threads start with the first job and
 * end with {@link #close()}.
 *
 * <p>A helper without work looks around for a short time and then sleeps: on a shared machine,
 * threads that spin for long take the processor from those that compute. While nothing is executed,
 * it lets others go first even then: the next execution may wait for a thread that needs the
 * processor, such as the client of a burst, which polls, and its server, which does so too.
 *
 * <p>Callers and helpers that compute are never more than the threads of the device: where as many
 * callers execute, nobody helps. A thread too many would take the processor for a whole time slice
 * from one that is asked to stand back, or from one that others have stood back for. For the same
 * reason, a device that has all processors leaves one to the JVM's compilers when it begins: these
 * are busy with what a first execution runs, and a helper that loses its processor to them has the
 * caller wait for its tile.
 */
public final class Workers implements AutoCloseable {
  /**
   * The time for which the place of a caller is kept for the next one. A helper that took it could
   * be in a tile when that one comes.
   */
  private static final long KEPT_NANOS = 1_000_000;

  /** The time from the first execution on in which the JVM's compilers have a processor. */
  private static final long COMPILERS_NANOS = 10_000_000;

  /** Executions that can be helped at the same time; more run by themselves. */
  private static final int JOBS = 64;

  /** Rounds of looking around that last some 50 microseconds: longer than the gap of two steps. */
  private static final int SPINS = 3000;

  /** Rounds that last as long as letting others go first. */
  private static final int YIELD_SPINS = 50;

  private final int threads;
  private final String name;
  private final AtomicReferenceArray<Job> jobs = new AtomicReferenceArray<>(JOBS);
  private final AtomicInteger asleep = new AtomicInteger();

  /** Callers that execute and are not in a pause. */
  private final AtomicInteger callers = new AtomicInteger();

  /** The number of callers when one of several left last, and the moment until which it counts. */
  private volatile int lastCallers;

  private volatile long lastCallersEndNanos;

  private final List<Worker> workers = new ArrayList<>();
  private volatile Worker[] started;
  private volatile long startNanos;

  /** Processors that are left to compilers. */
  private volatile int spared;

  private volatile boolean closed;

  /**
   * Threads that are not started yet.
   *
   * @param threads that compute one execution together, its caller included; at least 1
   */
  public Workers(int threads, String name) {
    this.threads = threads;
    this.name = name;
  }

  /** Threads that compute one execution together, its caller included. */
  public int threads() {
    return threads;
  }

  public boolean isClosed() {
    return closed;
  }

  /**
   * Begins an execution, and lets helpers see its job.
   *
   * @return the place of the job, or -1 where there is none
   */
  public int register(Job job) {
    callers.incrementAndGet();
    if (threads == 1 || closed) {
      return -1;
    }
    start();
    for (int i = 0; i < JOBS; i++) {
      if (jobs.get(i) == null && jobs.compareAndSet(i, null, job)) {
        return i;
      }
    }
    return -1;
  }

  /** Ends an execution, and takes its job out of sight. */
  public void unregister(int place) {
    leave();
    if (place >= 0) {
      jobs.set(place, null);
    }
  }

  /** Begins the pause of a caller, in which it computes nothing. */
  void pauseBegins() {
    leave();
  }

  private void leave() {
    int before = callers.getAndDecrement();
    if (before > 1) {
      lastCallersEndNanos = System.nanoTime() + KEPT_NANOS;
      lastCallers = before;
    }
  }

  /** Ends the pause of a caller. */
  void pauseEnds() {
    callers.incrementAndGet();
  }

  /** Returns true if a helper, from 1 on, would not be one thread too many. */
  boolean mayHelp(int participant) {
    int room = threads - participant - spared;
    return callers.get() <= room
        && (lastCallers <= room || System.nanoTime() - lastCallersEndNanos >= 0);
  }

  /** Wakes helpers for a job that has been opened. */
  public void wake() {
    if (asleep.get() > 0) {
      for (Worker worker : started) {
        if (worker.sleeping && mayHelp(worker.participant)) {
          LockSupport.unpark(worker);
        }
      }
    }
  }

  private void start() {
    if (started != null) {
      return;
    }
    synchronized (workers) {
      if (started == null && !closed) {
        startNanos = System.nanoTime();
        spared = threads < Runtime.getRuntime().availableProcessors() ? 0 : 1;
        for (int i = 1; i < threads; i++) {
          Worker worker = new Worker(i);
          workers.add(worker);
          worker.start();
        }
        started = workers.toArray(new Worker[0]);
      }
    }
  }

  /** Ends the threads and waits for them. Jobs under way are finished by their callers. */
  @Override
  public void close() {
    synchronized (workers) {
      closed = true;
      workers.forEach(LockSupport::unpark);
      boolean interrupted = false;
      for (Worker worker : workers) {
        while (worker.isAlive()) {
          try {
            worker.join();
          } catch (InterruptedException e) {
            interrupted = true;
          }
        }
      }
      workers.clear();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** One thread. */
  private final class Worker extends Thread {
    private final int participant;
    private volatile boolean sleeping;

    /** True if something was being executed when this thread looked last. */
    private boolean sawJob;

    Worker(int participant) {
      super(name + "-" + participant);
      this.participant = participant;
      setDaemon(true);
    }

    @Override
    public void run() {
      int idle = 0;
      while (!closed) {
        if (lookAround()) {
          idle = 0;
        } else if (idle < SPINS && mayHelp(participant)) {
          idle += pause();
        } else {
          sleep();
          idle = 0;
        }
      }
    }

    /** Waits for a moment; returns how many rounds it lasts. */
    private int pause() {
      if (sawJob) {
        Thread.onSpinWait();
        return 1;
      }
      Thread.yield();
      return YIELD_SPINS;
    }

    private boolean lookAround() {
      boolean helped = false;
      sawJob = false;
      for (int i = 0; i < JOBS; i++) {
        Job job = jobs.get(i);
        if (job == null) {
          continue;
        }
        sawJob = true;
        helped |= job.help(participant, Workers.this);
      }
      return helped;
    }

    private boolean seesWork() {
      for (int i = 0; i < JOBS && mayHelp(participant); i++) {
        Job job = jobs.get(i);
        if (job != null && job.hasWork()) {
          return true;
        }
      }
      return false;
    }

    /** Says so before it looks a last time: whoever opens a job later sees it asleep. */
    private void sleep() {
      sleeping = true;
      asleep.incrementAndGet();
      if (!closed && !seesWork()) {
        if (spared == 0) {
          LockSupport.park(Workers.this);
        } else {
          restBesideCompilers();
        }
      }
      asleep.decrementAndGet();
      sleeping = false;
    }

    private void restBesideCompilers() {
      long end = startNanos + COMPILERS_NANOS;
      LockSupport.parkNanos(Workers.this, end - System.nanoTime());
      if (System.nanoTime() - end >= 0) {
        spared = 0;
      }
    }
  }
}
