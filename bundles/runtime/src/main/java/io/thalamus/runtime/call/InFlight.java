// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.hal.Device;
import io.thalamus.runtime.call.Terms.Admission;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;

/**
 * The count of the calls in a device, for which its departure waits. Thread-safe. Once the device
 * has left, nothing here refers to it.
 */
final class InFlight {
  /** The period at which a waiting departure looks at the clock. */
  private static final long LOOK_MILLIS = 20;

  private final Timekeeper time;
  private final Object lock = new Object();

  /** Null once the device has left. Written under the lock. */
  private volatile Device driver;

  /** Counted before a call looks a last time: it sees the departure, or that counts it. */
  private final AtomicInteger running = new AtomicInteger();

  /** Written under the lock. */
  private volatile boolean leaving;

  InFlight(Device driver, Timekeeper time) {
    this.driver = driver;
    this.time = time;
  }

  /** Returns whether this is about a device that has not left. */
  boolean isOf(Device other) {
    return driver == other;
  }

  boolean isLeaving() {
    return leaving;
  }

  boolean hasLeft() {
    return driver == null;
  }

  /** Begins a call, and returns whether the device takes it. */
  boolean enter(Admission admission) {
    if (!takes(admission)) {
      return false;
    }
    running.incrementAndGet();
    if (takes(admission)) {
      return true;
    }
    exit();
    return false;
  }

  private boolean takes(Admission admission) {
    return switch (admission) {
      case WHILE_SERVING, UNTIL_DEPARTURE -> !leaving;
      case UNTIL_LEFT -> driver != null;
      case ALWAYS -> true;
    };
  }

  /** Returns the driver; null once it has left. */
  Device driver() {
    return driver;
  }

  /** Ends a call. */
  void exit() {
    running.decrementAndGet();
    if (leaving) {
      recount();
    }
  }

  /** Has a departure that waits count again: a call has ended, or was abandoned. */
  void recount() {
    synchronized (lock) {
      lock.notifyAll();
    }
  }

  /** Refuses calls from now on, but for those that give something back. */
  void refuse() {
    synchronized (lock) {
      leaving = true;
    }
  }

  /**
   * Waits until no call runs but stuck ones.
   *
   * @param end the time at which to wait no longer
   * @param stuck counts the calls that nobody waits for
   */
  void await(long end, IntSupplier stuck) {
    synchronized (lock) {
      boolean interrupted = false;
      while (running.get() > stuck.getAsInt() && time.nanoTime() - end < 0) {
        try {
          lock.wait(LOOK_MILLIS);
        } catch (InterruptedException e) {
          // Whoever stops the bundle is in a hurry: wait no longer.
          interrupted = true;
          break;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Waits as {@link #await} does, and forgets the device.
   *
   * @return how many calls still run
   */
  int leave(long end, IntSupplier stuck) {
    synchronized (lock) {
      leaving = true;
      await(end, stuck);
      driver = null;
      return running.get();
    }
  }
}
