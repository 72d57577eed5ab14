// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import io.thalamus.hal.ExecutionControl;
import io.thalamus.model.Priority;
import io.thalamus.runtime.call.Pauses;
import java.util.concurrent.locks.LockSupport;

/**
 * An execution that contends for permits of devices, one at a time, and its control. Thread-safe.
 * Its checkpoint gives the permit back while a more urgent one needs it.
 */
public abstract class Contender implements ExecutionControl, Pauses {
  private static final long NOT_PAUSED = Long.MIN_VALUE;

  private final Application application;
  private final Priority priority;

  /** Whether the permit is asked back. */
  volatile boolean isWanted;

  /** The device whose permit it holds or waits for, or held last. */
  volatile Permits permits;

  /** The place of its permit; negative while it holds none. */
  volatile int slot = -1;

  /** The thread that waits for a permit; null if none does. Written under the lock of permits. */
  volatile Permits.Waiter waiter;

  /** Whether its time is charged. Written under the lock of permits. */
  volatile boolean isCounted;

  /** Whether it may be asked for its permit. */
  boolean mayPause;

  /** The account that is charged, and from when on. Under the lock of permits. */
  Account<Permits.Waiter> account;

  long chargedFromNanos;

  /** Its place in the order of arrival; negative while it needs none. Under the same lock. */
  long number;

  /** The rank by which it got its permit, and until when it keeps that. Under the same lock. */
  int rank;

  long rankEndNanos;

  /** An urgent one that waits for something that this one holds; null if none does. */
  private volatile Contender heir;

  private volatile long pausedNanos;
  private volatile long pausedSinceNanos = NOT_PAUSED;
  private volatile long waitedNanos;

  /** A contender for an application, at a priority among the work of the same application. */
  protected Contender(Application application, Priority priority) {
    this.application = application;
    this.priority = priority;
  }

  /** Returns the time in nanoseconds after which {@link #status} may be another one. */
  protected abstract long nanosLeft();

  @Override
  public abstract Signal status();

  @Override
  public final Signal checkpoint() {
    Signal signal = status();
    if (signal != Signal.CONTINUE || !isWanted) {
      return signal;
    }
    return permits.pause(this);
  }

  @Override
  public final boolean isPauseWanted() {
    return isWanted;
  }

  /** Has a thread that waits for a permit look at the status again. */
  protected final void wake() {
    Permits.Waiter waiting = waiter;
    if (waiting != null) {
      LockSupport.unpark(waiting.thread);
    }
  }

  /** Returns the application that it contends for. */
  public final Application application() {
    return application;
  }

  /** Returns its priority among the work of its application. */
  public final Priority priority() {
    return priority;
  }

  /**
   * Takes over the rank of another one, which waits for something that this one holds, until {@link
   * #disinherit}; unless its own is as high.
   */
  public final void inherit(Contender urgent) {
    Contender standing = standing();
    int more = urgent.standing().priority.compareTo(standing.priority);
    boolean isSame = urgent.standing().application.equals(standing.application);
    if (urgent == this || more < 0 || (more == 0 && isSame)) {
      return;
    }
    heir = urgent.standing();
    Permits where = permits;
    if (where != null) {
      where.reconsider(this);
    }
  }

  /** Goes on by its own rank, since it has let go of what others waited for. */
  public final void disinherit() {
    if (heir != null) {
      heir = null;
      Permits where = permits;
      if (where != null) {
        where.reconsider(this);
      }
    }
  }

  /** Returns the one by whose application and priority this one is ranked. */
  final Contender standing() {
    Contender other = heir;
    return other == null ? this : other;
  }

  /** Returns how long this has waited for permits until now, in queues and in pauses. */
  public final long waitedNanos() {
    return waitedNanos;
  }

  @Override
  public final long pausedNanos(long now) {
    // In this order: a pause that ends meanwhile counts twice for a moment, and never not at all.
    long since = pausedSinceNanos;
    return pausedNanos + (since == NOT_PAUSED ? 0 : now - since);
  }

  /** Begins to contend for a permit. */
  void begin(Permits where, boolean pauses) {
    if (permits != where) {
      permits = where;
    }
    if (isWanted) {
      isWanted = false;
    }
    if (pausedNanos != 0) {
      pausedNanos = 0;
    }
    mayPause = pauses;
    number = -1;
  }

  void pauseBegins(long now) {
    pausedSinceNanos = now;
  }

  void pauseEnded(long now) {
    pausedNanos += now - pausedSinceNanos;
    waited(now - pausedSinceNanos);
    pausedSinceNanos = NOT_PAUSED;
  }

  void waited(long nanos) {
    waitedNanos += nanos;
  }
}
