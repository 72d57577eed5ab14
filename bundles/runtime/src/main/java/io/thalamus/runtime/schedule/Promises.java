// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The promises of room in one class of a {@link FairQueue} that are neither redeemed nor over. Not
 * thread-safe. Only their numbers are kept, by slots of time: a promise itself lives as long as
 * whoever it was made to.
 */
final class Promises {
  /** The time for which room is kept for one that does not come. */
  static final long GRACE_NANOS = Duration.ofSeconds(1).toNanos();

  /** The time of a slot, all of whose promises are over at once: short beside the grace. */
  private static final long SLOT_NANOS = GRACE_NANOS / 8;

  /** The earliest first. */
  private final Deque<Slot> slots = new ArrayDeque<>();

  private int open;

  private static final class Slot {
    final Promises owner;
    final long firstNanos;
    long lastNanos;
    int open;

    Slot(Promises owner, long firstNanos) {
      this.owner = owner;
      this.firstNanos = firstNanos;
    }
  }

  /** A promise of room from a moment on. */
  static final class Promise {
    final long nanos;

    /** Null once it is redeemed. */
    private Slot slot;

    private Promise(long nanos, Slot slot) {
      this.nanos = nanos;
      this.slot = slot;
    }
  }

  /** Returns how many are open. */
  int open(long now) {
    while (!slots.isEmpty() && isOver(slots.getFirst(), now)) {
      open -= slots.removeFirst().open;
    }
    return open;
  }

  private static boolean isOver(Slot slot, long now) {
    return now - slot.lastNanos > GRACE_NANOS;
  }

  /** Returns whether a promise, or null, is an open one of this class. */
  boolean isOpen(Promise promise, long now) {
    return promise != null
        && promise.slot != null
        && promise.slot.owner == this
        && !isOver(promise.slot, now);
  }

  /** Promises room from a moment on, or from that of the promise before: in order they are kept. */
  Promise add(long nanos) {
    Slot last = slots.peekLast();
    long moment = last == null ? nanos : Math.max(nanos, last.lastNanos);
    if (last == null || moment - last.firstNanos > SLOT_NANOS) {
      last = new Slot(this, moment);
      slots.add(last);
    }
    last.lastNanos = moment;
    last.open++;
    open++;
    return new Promise(moment, last);
  }

  /** Ends an open promise. */
  void redeem(Promise promise) {
    promise.slot.open--;
    promise.slot = null;
    open--;
  }
}
