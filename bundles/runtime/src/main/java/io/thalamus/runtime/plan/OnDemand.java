// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.plan;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.runtime.schedule.Contender;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * A value that the first execution to need it prepares, and that later ones share. Thread-safe.
 * Owns the value until it is closed. One execution prepares at a time; the others wait for it no
 * longer than they may take themselves, and it inherits the rank of the most urgent one.
 *
 * @param <T> what is prepared
 */
public final class OnDemand<T> {
  /** The time between two checks of a waiting execution whether it must stop. */
  private static final long LOOK_MILLIS = 20;

  private final Predicate<T> isServed;
  private final Consumer<T> onShare;
  private final Consumer<T> onEnd;
  private final ReentrantLock preparing = new ReentrantLock();

  /** The control of the execution that prepares; null while none does. */
  private volatile ExecutionControl preparer;

  private T value;
  private boolean closed;

  /**
   * Creates a holder without a value.
   *
   * @param isServed whether a value can still be used; one that cannot is prepared again
   * @param onShare called with the value each time that an execution gets it while it is kept
   * @param onEnd ends a value that is not kept any more
   */
  public OnDemand(Predicate<T> isServed, Consumer<T> onShare, Consumer<T> onEnd) {
    this.isServed = isServed;
    this.onShare = onShare;
    this.onEnd = onEnd;
  }

  /** Prepares a value. */
  @FunctionalInterface
  public interface Preparation<T> {
    /** Returns a fresh value, which belongs to the caller. */
    T prepare() throws NeuralNetworksException;
  }

  /**
   * Returns the value, and prepares it when there is none. After {@link #close} each call prepares
   * one of its own, which belongs to the caller.
   *
   * @param control of the execution that needs it
   * @throws NeuralNetworksException when the preparation fails, or the execution must stop while
   *     another one prepares
   */
  public T get(ExecutionControl control, Preparation<T> preparation)
      throws NeuralNetworksException {
    T kept = share();
    if (kept != null) {
      return kept;
    }
    await(control);
    preparer = control;
    try {
      kept = share();
      return kept != null ? kept : keep(preparation.prepare());
    } finally {
      preparer = null;
      preparing.unlock();
      if (control instanceof Contender contender) {
        contender.disinherit();
      }
    }
  }

  private T share() {
    T unserved;
    synchronized (this) {
      if (value == null || isServed.test(value)) {
        if (value != null) {
          onShare.accept(value);
        }
        return value;
      }
      unserved = value;
      value = null;
    }
    onEnd.accept(unserved);
    return null;
  }

  private synchronized T keep(T prepared) {
    if (!closed) {
      value = prepared;
      onShare.accept(value);
    }
    return prepared;
  }

  private void await(ExecutionControl control) throws NeuralNetworksException {
    boolean isInterrupted = false;
    try {
      while (!tryLock()) {
        isInterrupted |= Thread.interrupted();
        if (control instanceof Contender urgent && preparer instanceof Contender holder) {
          holder.inherit(urgent);
        }
        switch (control.status()) {
          case CONTINUE -> {
            // The other preparation may take as long as this execution has time.
          }
          case CANCELLED ->
              throw new NeuralNetworksException(
                  ResultCode.OP_FAILED, "the execution was cancelled while it waited for another");
          case DEADLINE ->
              throw new NeuralNetworksException(
                  ResultCode.MISSED_DEADLINE_TRANSIENT,
                  "the execution missed its deadline while it waited for another");
        }
      }
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private boolean tryLock() {
    try {
      return preparing.tryLock(LOOK_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      // Executions are cancelled by their control only; the caller restores the flag.
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Ends the value. A preparation that is under way belongs to the execution that began it. */
  public void close() {
    T last;
    synchronized (this) {
      closed = true;
      last = value;
      value = null;
    }
    if (last != null) {
      onEnd.accept(last);
    }
  }
}
