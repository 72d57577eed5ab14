// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.schedule;

import io.thalamus.hal.ExecutionControl;
import io.thalamus.model.Priority;
import io.thalamus.runtime.call.Pauses;
import io.thalamus.runtime.events.CompilationLabel;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.locks.LockSupport;

/**
 * An execution that contends for permits of devices, one at a time, and its control. Thread-safe.
 * Its checkpoint gives the permit back while a more urgent one needs it.
 */
public abstract class Contender implements ExecutionControl, Pauses {
  // Stores that need no fence of their own: the permit is taken, or was given back, by one.
  private static final AtomicReferenceFieldUpdater<Contender, Permits> PERMITS =
      AtomicReferenceFieldUpdater.newUpdater(Contender.class, Permits.class, "permits");
  private static final AtomicIntegerFieldUpdater<Contender> PLACE =
      AtomicIntegerFieldUpdater.newUpdater(Contender.class, "place");

  private final Application application;
  private final Priority priority;

  /** True if the permit is asked back. */
  volatile boolean isWanted;

  /** The device whose permit it holds or waits for, or held last. */
  volatile Permits permits;

  /** The slot of its permit plus 1; 0 while it holds none. */
  private volatile int place;

  /** The thread that waits for a permit; null if none does. Written under the lock of permits. */
  volatile Waiter waiter;

  /** True if its time is charged. Written under the lock of permits. */
  volatile boolean isCounted;

  /** True if it may be asked for its permit. */
  boolean mayPause;

  /** The account that is charged, and from when on. Under the lock of permits. */
  Account<Waiter> account;

  long chargedFromNanos;

  /** Its place in the order of arrival; negative while it needs none. Under the same lock. */
  long number;

  /** The order by which it got its permit, and until when it keeps that. Under the same lock. */
  int order;

  long orderEndNanos;

  /** The moment from which on it had waited for that. Under the same lock. */
  long sinceNanos;

  /** The time at which it went on with a permit that it had waited for; 0 where it did not wait. */
  long beganNanos;

  /** The room that it was promised by the queue that refused it last; null if none did. */
  Promises.Promise promise;

  /** An urgent one that waits for something that this one holds; null if none does. */
  private volatile Contender heir;

  private volatile long pausedNanos;
  private volatile boolean isPaused;

  /** The time at which the last pause began; written before it is said to have. */
  private long pausedSinceNanos;

  private volatile long waitedNanos;

  /** A contender for an application, at a priority among the work of the same application. */
  protected Contender(Application application, Priority priority) {
    this.application = application;
    this.priority = priority;
  }

  /**
   * A contender for the same as another one.
   *
   * @param isPromised whether that was refused, and this one has what it was promised
   */
  protected Contender(Contender last, boolean isPromised) {
    this(last.application, last.priority);
    promise = isPromised ? last.promise : null;
  }

  /** Returns the time in nanoseconds after which {@link #status} may be another one. */
  protected abstract long nanosLeft();

  @Override
  public abstract Signal status();

  @Override
  public final Signal checkpoint() {
    Signal signal = status();
    if (signal != Signal.CONTINUE) {
      return signal;
    }
    Permits where = permits;
    // A pause leaves the processor to others anyway.
    if (where != null && !isWanted) {
      // First: one that comes meanwhile asks for the permit.
      long others = where.takeTurn(this);
      if (others > 0) {
        spentOnOthers(others);
      }
    }
    return isWanted ? where.pause(this) : signal;
  }

  @Override
  public final boolean isPauseWanted() {
    return isWanted;
  }

  @Override
  public final void spentOnOthers(long nanos) {
    pausedNanos += nanos;
    waited(nanos);
  }

  @Override
  public final Optional<Priority> executionPriority() {
    return Optional.of(standing().priority);
  }

  /** Has a thread that waits for a permit look at the status again. */
  protected final void wake() {
    Waiter waiting = waiter;
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

  /** Returns the words by which events name what it belongs to. */
  public CompilationLabel label() {
    return CompilationLabel.PLANNING;
  }

  /** Returns the number that events have for it; 0 while nobody records. */
  public long execution() {
    return 0;
  }

  /**
   * Takes over the rank of another one, which waits for something that this one holds, until {@link
   * #disinherit}; unless its own is as high.
   *
   * @return whether it has taken it over
   */
  public final boolean inherit(Contender urgent) {
    Contender standing = standing();
    int more = urgent.standing().priority.compareTo(standing.priority);
    boolean isSame = urgent.standing().application.equals(standing.application);
    if (urgent == this || more < 0 || (more == 0 && isSame)) {
      return false;
    }
    heir = urgent.standing();
    Permits where = permits;
    if (where != null) {
      where.reconsider(this);
    }
    return true;
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
  public final Contender standing() {
    Contender other = heir;
    return other == null ? this : other;
  }

  /** Returns whether this holder may be asked for its permit for one that waits. */
  final boolean mayBeAsked(FairQueue.Entry<Waiter> next, long now) {
    return isCounted && mayPause && isBehind(next, now);
  }

  /** Returns whether one that waits goes before this holder. */
  final boolean isBehind(FairQueue.Entry<Waiter> next, long now) {
    return next.account == account
        ? next.order(now) > order(now)
        : FairQueue.usedMore(next.account, account) < -Permits.QUANTUM_NANOS;
  }

  /** Returns whether another holder goes before this one. */
  final boolean isBehind(Contender other, long now) {
    return other.account == account
        ? other.order(now) > order(now)
        : FairQueue.usedMore(other.account, account) < -Permits.QUANTUM_NANOS;
  }

  /** Returns a positive number if this holder stands back before another, and 0 if either may. */
  final int order(Contender other, long now) {
    long more = FairQueue.usedMore(account, other.account);
    return more != 0 ? Long.signum(more) : other.order(now) - order(now);
  }

  /** Returns the order of this holder: that to which it has risen falls again. */
  private int order(long now) {
    int own = ownOrder();
    return now - orderEndNanos < 0 ? Math.max(own, order) : own;
  }

  /** Returns its order by its priority alone. */
  final int ownOrder() {
    return FairQueue.orderOf(standing().priority.ordinal());
  }

  /** Returns whether this holder has an order that it will lose by time alone. */
  final boolean hasRisen(long now) {
    return isCounted && order(now) > ownOrder();
  }

  /** Returns how long this has waited for permits until now, in queues and in pauses. */
  public final long waitedNanos() {
    return waitedNanos;
  }

  /** Returns how many the device whose permit it held last works on together; or very many. */
  public final int together() {
    Permits where = permits;
    return where == null ? Integer.MAX_VALUE : where.count();
  }

  @Override
  public final long pausedNanos(long now) {
    // In this order: a pause that ends meanwhile counts twice for a moment, and never not at all.
    long pause = isPaused ? now - pausedSinceNanos : 0;
    return pausedNanos + pause;
  }

  /** Begins to contend for a permit. */
  void begin(Permits where, boolean pauses) {
    if (permits != where) {
      PERMITS.lazySet(this, where);
    }
    if (isWanted) {
      isWanted = false;
    }
    if (pausedNanos != 0) {
      pausedNanos = 0;
    }
    if (beganNanos != 0) {
      beganNanos = 0;
    }
    mayPause = pauses;
    number = -1;
  }

  /** Returns the slot of its permit; negative while it holds none. */
  final int slot() {
    return place - 1;
  }

  final void setSlot(int slot) {
    PLACE.lazySet(this, slot + 1);
  }

  void pauseBegins(long now) {
    pausedSinceNanos = now;
    isPaused = true;
  }

  void pauseEnded(long now) {
    pausedNanos += now - pausedSinceNanos;
    waited(now - pausedSinceNanos);
    isPaused = false;
  }

  void waited(long nanos) {
    waitedNanos += nanos;
  }
}
