// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.burst.BurstClient;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.Request;
import io.thalamus.model.ErrorStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;

/**
 * The requests under way in one open burst. Thread-safe. Each sender gets a number and receives its
 * own result, in the order of the numbers. Once it is given up, nothing is sent or received any
 * more but by whoever waits for the device to be done with it.
 */
final class BurstLine {
  private static final ExecutionResult BROKEN =
      new Failed(ErrorStatus.DEVICE_UNAVAILABLE, "its burst broke before it was done");

  private final BurstClient client;

  /** The threads that wait until the results before theirs are received, by number. */
  private final AtomicReferenceArray<Thread> waiting;

  /** The actions that free things when the device is done; null once that is so. Under the lock. */
  private List<Runnable> kept = new ArrayList<>();

  /** The next number to give. Under the lock. */
  private long sent;

  /** The number whose result is the next to come. */
  private volatile long next;

  private volatile boolean isGivenUp;

  BurstLine(BurstClient client, int depth) {
    this.client = client;
    this.waiting = new AtomicReferenceArray<>(depth);
  }

  /** Sends a request, and returns its number; -1 if it was not sent. */
  synchronized long send(Request request, ExecutionConfig config) {
    return !isGivenUp && client.send(request, config) ? sent++ : -1;
  }

  /** Executes a request in this thread; returns null if that cannot be. */
  ExecutionResult execute(Request request, ExecutionConfig config) {
    return isGivenUp ? null : client.execute(request, config);
  }

  /** Returns whether all results before this one are received. */
  boolean isNext(long number) {
    return next == number;
  }

  /** Waits for the turn of a number, and for its result; null if it has not come in time. */
  ExecutionResult receive(long number, long timeoutNanos) {
    if (next != number && !awaitTurn(number, timeoutNanos)) {
      return isGivenUp ? BROKEN : null;
    }
    ExecutionResult result = client.receive(timeoutNanos);
    if (result != null) {
      next = number + 1;
      if (waiting.length() > 1) {
        LockSupport.unpark(waiting.get(place(number + 1)));
      }
    }
    return result;
  }

  private boolean awaitTurn(long number, long timeoutNanos) {
    int place = place(number);
    waiting.set(place, Thread.currentThread());
    long end = System.nanoTime() + timeoutNanos;
    long left = timeoutNanos;
    while (next != number && !isGivenUp && left > 0) {
      LockSupport.parkNanos(this, left);
      left = end - System.nanoTime();
    }
    waiting.set(place, null);
    return next == number;
  }

  private int place(long number) {
    return (int) (number % waiting.length());
  }

  void cancel(long number) {
    // The server stops what it works on, which is the next result.
    if (isNext(number)) {
      client.cancel();
    }
  }

  /** Returns whether nothing can be sent any more. */
  boolean isBroken() {
    return isGivenUp || client.isBroken();
  }

  /** Returns whether that is what a line answers that is given up. */
  boolean isLost(ExecutionResult result) {
    return result == BROKEN
        || (result.status() == ErrorStatus.DEVICE_UNAVAILABLE && client.isBroken());
  }

  /** Sends nothing any more, and has all go on that wait for their turn. */
  void giveUp() {
    synchronized (this) {
      isGivenUp = true;
    }
    for (int place = 0; place < waiting.length(); place++) {
      LockSupport.unpark(waiting.get(place));
    }
  }

  /** Frees something once the device is done: now if it is. */
  void keepUntilEnd(Runnable freeing) {
    synchronized (this) {
      if (kept != null) {
        kept.add(freeing);
        return;
      }
    }
    freeing.run();
  }

  BurstClient client() {
    return client;
  }

  /** Frees what was kept, since the device is done; returns whether that is new. */
  boolean end() {
    List<Runnable> all;
    synchronized (this) {
      isGivenUp = true;
      all = kept;
      kept = null;
    }
    if (all == null) {
      return false;
    }
    all.forEach(Runnable::run);
    return true;
  }
}
