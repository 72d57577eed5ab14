// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A count of the uses of a resource that has an owner. The owner closes the resource once; it is
 * freed when it is closed and its last use has ended, whichever comes later. Thread-safe and
 * without locks; owned by the resource.
 *
 * <p>Everything done before a {@link #release} or a {@link #close} happens before the resource is
 * freed.
 */
public final class ReferenceCount {
  private static final int CLOSED = 1;
  private static final int USE = 2;
  private static final long BEGUN = 1L << Integer.SIZE;

  /**
   * In the lower half twice the number of uses, plus {@link #CLOSED}; in the upper half the number
   * of uses that have begun since the start.
   */
  private final AtomicLong state = new AtomicLong();

  private final Runnable onIdle;

  /**
   * A count of an open resource without uses.
   *
   * @param onIdle frees the resource; called once, outside any lock, by the thread that closes it
   *     or ends its last use
   */
  public ReferenceCount(Runnable onIdle) {
    this.onIdle = onIdle;
  }

  /**
   * Begins a use unless the resource is closed.
   *
   * @return whether a use has begun, which {@link #release} ends
   */
  public boolean retain() {
    long now;
    do {
      now = state.get();
      if ((now & CLOSED) != 0) {
        return false;
      }
    } while (!state.compareAndSet(now, now + BEGUN + USE));
    return true;
  }

  /**
   * Begins a use unless the resource is freed: also of a closed one that another use keeps.
   *
   * @return whether a use has begun, which {@link #release} ends
   */
  public boolean retainUnlessFreed() {
    long now;
    do {
      now = state.get();
      if ((int) now == CLOSED) {
        return false;
      }
    } while (!state.compareAndSet(now, now + BEGUN + USE));
    return true;
  }

  /**
   * Ends a use.
   *
   * @throws IllegalStateException if no use has begun
   */
  public void release() {
    long now;
    do {
      now = state.get();
      if ((int) now < USE) {
        throw new IllegalStateException("released more often than retained");
      }
    } while (!state.compareAndSet(now, now - USE));
    if ((int) now == USE + CLOSED) {
      onIdle.run();
    }
  }

  /**
   * Refuses further uses.
   *
   * @return whether this call closed the resource; false if it was closed before
   */
  public boolean close() {
    long now;
    do {
      now = state.get();
      if ((now & CLOSED) != 0) {
        return false;
      }
    } while (!state.compareAndSet(now, now + CLOSED));
    if ((int) now == 0) {
      onIdle.run();
    }
    return true;
  }

  /** Returns whether {@link #close} was called. */
  public boolean isClosed() {
    return (state.get() & CLOSED) != 0;
  }

  /** Returns the number of uses at the moment. */
  public int uses() {
    return (int) state.get() / USE;
  }

  /** Returns how many uses have begun until now, modulo 2 to the power of 32. */
  public long begun() {
    return state.get() >>> Integer.SIZE;
  }
}
