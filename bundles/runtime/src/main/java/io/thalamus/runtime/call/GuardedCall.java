// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.runtime.call.Answer.Abandoned;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A call in a thread of the runtime, so that its caller need not wait for a driver that never
 * answers. Thread-safe; used once.
 *
 * @param <T> what the driver returns
 */
class GuardedCall<T> implements Runnable {
  /** The period at which a waiting caller asks whether to go on waiting. */
  private static final long LOOK_MILLIS = 20;

  static final long LOOK_NANOS = Duration.ofMillis(LOOK_MILLIS).toNanos();

  /** The time that a driver has to stop once it was asked to, before its caller goes on. */
  private static final long GRACE_NANOS = Duration.ofMillis(500).toNanos();

  private final Terms terms;
  private final Duration limit;
  private final Timekeeper time;
  private volatile long startNanos;
  private final Consumer<Answer<T>> late;

  /** Null once begun: what it refers to must not live as long as a stuck call. */
  private Supplier<Answer<T>> work;

  private Thread thread;

  /** Null while the caller waits. */
  private volatile Answer<T> answer;

  private boolean isOver;

  /** True as long as the limit does not count. */
  private volatile boolean isHeld;

  /**
   * True once the driver was asked to stop, and the moment until which it may take. Used by who
   * waits.
   */
  private boolean isStopping;

  private long stopNanos;

  /**
   * A call.
   *
   * @param terms with a limit
   * @param startNanos when it began, by the clock
   * @param late gets an answer that nobody waits for any more
   */
  GuardedCall(Terms terms, long startNanos, Timekeeper time, Consumer<Answer<T>> late) {
    this.terms = terms;
    this.limit = terms.limit().orElseThrow();
    this.time = time;
    this.startNanos = startNanos;
    this.late = late;
  }

  /** Sets what is done, once, before the call runs. */
  final void setWork(Supplier<Answer<T>> value) {
    work = value;
  }

  /** Has the limit count only from {@link #begin} on; before the call runs. */
  final void hold() {
    isHeld = true;
  }

  /** Begins to count against the limit. */
  final void begin(long now) {
    startNanos = now;
    isHeld = false;
  }

  @Override
  public void run() {
    Supplier<Answer<T>> mine;
    synchronized (this) {
      thread = Thread.currentThread();
      mine = work;
      work = null;
    }
    // Whatever becomes of the driver and of this thread: the caller gets an answer.
    Answer<T> own = Supervisor.lost();
    boolean isLate = false;
    try {
      own = mine.get();
    } finally {
      synchronized (this) {
        isOver = true;
        thread = null;
        isLate = answer != null;
        if (!isLate) {
          answer = own;
        }
        notifyAll();
      }
    }
    if (isLate) {
      late.accept(own);
    }
  }

  /** Has the caller go on without an answer, unless there is one. */
  final synchronized void abandon(Abandonment why) {
    if (answer == null) {
      answer = new Abandoned<>(why, limit);
      notifyAll();
    }
  }

  /** Gives the caller an answer, unless it goes on without. */
  final synchronized void answer(Answer<T> value) {
    if (answer == null) {
      answer = value;
      isOver = true;
    }
  }

  /**
   * Waits a while for the answer.
   *
   * @return whether the thread was interrupted
   */
  boolean pause() {
    synchronized (this) {
      if (answer == null) {
        try {
          wait(LOOK_MILLIS);
        } catch (InterruptedException e) {
          // A call is not interruptible; the caller may look at its flag afterwards.
          return true;
        }
      }
      return false;
    }
  }

  /** Has the driver stop, unless it asks for itself whether it should. */
  void stop() {}

  /** Returns the answer once there is one, or the caller must not wait any longer. */
  Answer<T> await() {
    boolean interrupted = false;
    while (answer == null) {
      interrupted |= pause();
      look();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return answer;
  }

  /** Returns the answer if there is one; gives the call up if its caller must not wait longer. */
  final Answer<T> look() {
    if (answer != null) {
      return answer;
    }
    long now = time.nanoTime();
    if (!isHeld && now - startNanos - terms.pauses().pausedNanos(now) >= limit.toNanos()) {
      abandon(Abandonment.HUNG);
      return answer;
    }
    Signal wish = terms.control().status();
    if (wish == Signal.CONTINUE) {
      return answer;
    }
    if (!isStopping) {
      isStopping = true;
      stopNanos = now + GRACE_NANOS;
      stop();
    }
    if (now - stopNanos >= 0) {
      abandon(wish == Signal.CANCELLED ? Abandonment.CANCELLED : Abandonment.DEADLINE);
    }
    return answer;
  }

  /** Returns whether nobody waits for it, so that the driver is to stop. */
  boolean isAbandoned() {
    return answer instanceof Abandoned;
  }

  /** Returns whether the driver keeps a thread that nobody waits for. */
  synchronized boolean isStuck() {
    return !isOver && answer != null;
  }

  /** Returns what the driver is asked to do. */
  String name() {
    return terms.name();
  }

  /** Returns until when the device takes the call. */
  Terms.Admission admission() {
    return terms.admission();
  }

  /** Returns the time since the call began. */
  Duration age() {
    return Duration.ofNanos(time.nanoTime() - startNanos);
  }

  /** Returns the time until the limit is reached; zero afterwards. */
  Duration left() {
    long now = time.nanoTime();
    Duration left = limit.minusNanos(now - startNanos - terms.pauses().pausedNanos(now));
    return left.isNegative() ? Duration.ZERO : left;
  }

  /** Returns the name of the thread that is in the driver; empty when none is. */
  synchronized String threadName() {
    return thread == null ? "" : thread.getName();
  }
}
