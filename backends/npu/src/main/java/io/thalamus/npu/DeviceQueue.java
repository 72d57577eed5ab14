// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.driver.Checkpoint;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.Priority;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * The callers that want the device, of whom one has it at a time. Thread-safe.
 *
 * <p>They are ordered by their arrival on the device's clock, which counts as earlier by {@link
 * #RANK_NANOS} for each rank of the priority. So whoever is more urgent goes first, those of one
 * priority go in the order of their arrival, and nobody waits for ever: whoever has waited for so
 * long goes before any that arrives a rank above. A place is kept when the device is given up and
 * wanted again.
 *
 * <p>The device passes from one caller to the next without a moment of idling between them.
 */
final class DeviceQueue implements AutoCloseable {
  /** The time on the device after which a place is as good as a new one of the next rank. */
  static final long RANK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The time after which a waiting caller looks again whether it has to stop. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final DeviceClock clock;
  private final TreeSet<Place> waiting = new TreeSet<>();
  private Place holder;
  private long arrivals;

  /** True if the first of the waiting ones goes before the holder. */
  private volatile boolean isUrgent;

  private volatile boolean isClosed;

  /** An empty queue of a device with this clock. */
  DeviceQueue(DeviceClock clock) {
    this.clock = clock;
  }

  /** The place of one execution. Used by the thread that executes it. */
  static final class Place implements Comparable<Place> {
    private final long arrived;
    private final long rank;
    private final long number;
    private Thread caller;
    private volatile boolean isHolder;

    private Place(long arrived, Priority priority, long number) {
      this.arrived = arrived;
      this.rank = arrived - priority.halCode() * RANK_NANOS;
      this.number = number;
    }

    /** Returns the time of the arrival, on the device's clock. */
    long arrived() {
      return arrived;
    }

    @Override
    public int compareTo(Place other) {
      // By difference: the clock may begin anywhere.
      long before = rank - other.rank;
      return before == 0 ? Long.compare(number, other.number) : Long.signum(before);
    }
  }

  /** Gives a place to a caller that arrives now. It waits for nothing yet. */
  synchronized Place arrive(Priority priority) {
    return new Place(clock.nanoTime(), priority, arrivals++);
  }

  /**
   * Waits until the caller has the device, or has to stop.
   *
   * @param stop asked now and then by a caller that waits; null as long as it may go on
   * @return null when the caller has the device; else why it does not, and waits no more
   */
  Failed enter(Place place, Supplier<Failed> stop) {
    synchronized (this) {
      if (isClosed) {
        return Checkpoint.stopped();
      }
      if (holder == null) {
        clock.startWork();
        holder = place;
        place.isHolder = true;
        return null;
      }
      place.caller = Thread.currentThread();
      waiting.add(place);
      compare();
    }
    boolean isInterrupted = false;
    boolean isIn = false;
    try {
      Failed failed = null;
      while (failed == null && !place.isHolder) {
        LockSupport.parkNanos(this, LOOK_NANOS);
        isInterrupted |= Thread.interrupted();
        failed = isClosed ? Checkpoint.stopped() : stop.get();
      }
      isIn = failed == null;
      return failed;
    } finally {
      if (!isIn) {
        withdraw(place);
      }
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private synchronized void withdraw(Place place) {
    if (place.isHolder) {
      leave(place);
    } else if (waiting.remove(place)) {
      compare();
    }
  }

  /** Passes the device on. Its caller may enter again with the same place. */
  synchronized void leave(Place place) {
    place.isHolder = false;
    holder = waiting.pollFirst();
    // Before the next one runs: it would take what was said of this one to be said of itself.
    compare();
    if (holder == null) {
      clock.stopWork();
    } else {
      holder.isHolder = true;
      LockSupport.unpark(holder.caller);
    }
  }

  private void compare() {
    isUrgent = holder != null && !waiting.isEmpty() && waiting.first().compareTo(holder) < 0;
  }

  /** Returns whether a caller waits that goes before the one that has the device. */
  boolean isUrgent() {
    return isUrgent;
  }

  /** Returns the number of callers that wait. */
  synchronized int waiting() {
    return waiting.size();
  }

  boolean isClosed() {
    return isClosed;
  }

  /** Refuses further callers, and wakes those that wait. */
  @Override
  public synchronized void close() {
    isClosed = true;
    waiting.forEach(place -> LockSupport.unpark(place.caller));
  }
}
