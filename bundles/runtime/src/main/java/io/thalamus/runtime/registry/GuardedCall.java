// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A call in a thread of the runtime, so that its caller need not wait for a device that never
 * answers. Thread-safe; used once.
 *
 * @param <T> what the device answers
 */
final class GuardedCall<T> implements Runnable {
  /** How often a waiting caller looks whether it should wait any longer. */
  private static final long LOOK_MILLIS = 20;

  /** Why nobody waits for a call any more. */
  enum End {
    /** It is still waited for. */
    NONE,
    /** It took too long. */
    HUNG,
    /** Its deadline passed, and it did not stop. */
    DEADLINE,
    /** It was cancelled, and did not stop. */
    CANCELLED,
    /** Its device has left. */
    LEFT,
    /** No thread is free for it. */
    NO_THREAD
  }

  /**
   * How a call ended for its caller.
   *
   * @param answer of the device; null where it was not waited for
   * @param end NONE where there is an answer
   */
  record Outcome<T>(T answer, End end) {}

  private final String name;
  private final long startNanos;
  private final Consumer<T> late;
  private Supplier<T> work;
  private Thread thread;
  private T answer;
  private boolean isOver;
  private volatile End end = End.NONE;

  /**
   * A call.
   *
   * @param name what the device is asked to do, for people
   * @param work must not throw
   * @param late gets an answer that nobody waits for any more
   */
  GuardedCall(String name, long startNanos, Supplier<T> work, Consumer<T> late) {
    this.name = name;
    this.startNanos = startNanos;
    this.work = work;
    this.late = late;
  }

  @Override
  public void run() {
    Supplier<T> mine;
    synchronized (this) {
      thread = Thread.currentThread();
      mine = work;
      work = null;
    }
    T value = mine.get();
    boolean isLate;
    synchronized (this) {
      isOver = true;
      thread = null;
      isLate = end != End.NONE;
      if (!isLate) {
        answer = value;
      }
      notifyAll();
    }
    if (isLate) {
      late.accept(value);
    }
  }

  /** Has its caller go on without an answer, unless there is one. */
  synchronized boolean abandon(End why) {
    if (isOver || end != End.NONE) {
      return false;
    }
    end = why;
    notifyAll();
    return true;
  }

  /** Waits for the answer, as long as {@code look} says NONE. */
  Outcome<T> await(Supplier<End> look) {
    boolean interrupted = false;
    while (true) {
      synchronized (this) {
        if (!isOver && end == End.NONE) {
          try {
            wait(LOOK_MILLIS);
          } catch (InterruptedException e) {
            // A call is not interruptible; the caller may look at its flag afterwards.
            interrupted = true;
          }
        }
        if (isOver || end != End.NONE) {
          break;
        }
      }
      // Outside of the lock: a checkpoint may pause its caller.
      End why = look.get();
      if (why != End.NONE) {
        abandon(why);
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return outcome();
  }

  private synchronized Outcome<T> outcome() {
    return new Outcome<>(answer, end);
  }

  /** What the device asks at checkpoints: it is to stop once nobody waits for it. */
  ExecutionControl control(ExecutionControl inner) {
    return () -> end != End.NONE ? Signal.CANCELLED : inner.checkpoint();
  }

  /** What the device is asked to do. */
  String name() {
    return name;
  }

  long startNanos() {
    return startNanos;
  }

  /** Whether the device has given the thread back. */
  synchronized boolean isOver() {
    return isOver;
  }

  /** Whether the device keeps a thread that nobody waits for. */
  synchronized boolean isStuck() {
    return !isOver && end != End.NONE;
  }

  /** The name of the thread that is in the device, or nothing where none is. */
  synchronized String threadName() {
    return thread == null ? "" : thread.getName();
  }
}
