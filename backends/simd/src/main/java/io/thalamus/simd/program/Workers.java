// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

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
 */
public final class Workers implements AutoCloseable {
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
  private final List<Worker> workers = new ArrayList<>();
  private volatile Worker[] started;
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

  /** Lets helpers see a job. Returns its place, or -1 where there is none. */
  public int register(Job job) {
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

  /** Takes a job out of sight. */
  public void unregister(int place) {
    if (place >= 0) {
      jobs.set(place, null);
    }
  }

  /** Wakes helpers for a job that has been opened. */
  public void wake() {
    if (asleep.get() > 0) {
      for (Worker worker : started) {
        if (worker.sleeping) {
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

    /** Whether something was being executed when this thread looked last. */
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
        } else if (idle < SPINS) {
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
        helped |= job.help(participant);
      }
      return helped;
    }

    private boolean seesWork() {
      for (int i = 0; i < JOBS; i++) {
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
        LockSupport.park(Workers.this);
      }
      asleep.decrementAndGet();
      sleeping = false;
    }
  }
}
