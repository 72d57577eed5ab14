// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * A call in a thread of the runtime, so that its caller need not wait for a device that never
 * answers. Thread-safe; used once.
 */
final class GuardedCall implements Runnable {
  /** How often a waiting caller looks whether it was cancelled. */
  private static final long LOOK_MILLIS = 20;

  private final Supplier<ExecutionResult> work;
  private ExecutionResult result;
  private boolean abandoned;

  /** A call of this work, which must not throw. */
  GuardedCall(Supplier<ExecutionResult> work) {
    this.work = work;
  }

  @Override
  public void run() {
    ExecutionResult answer = work.get();
    synchronized (this) {
      if (!abandoned) {
        result = answer;
        notifyAll();
      }
    }
  }

  /** Gives the caller this answer, unless the device has answered. */
  synchronized void abandon(ExecutionResult instead) {
    if (result == null) {
      abandoned = true;
      result = instead;
      notifyAll();
    }
  }

  /**
   * Waits for the answer.
   *
   * @param grace how long the device may take to stop once it was told to
   */
  synchronized CallOutcome await(ExecutionConfig config, Duration grace) {
    boolean interrupted = false;
    long stopAt = 0;
    boolean isStopping = false;
    while (result == null) {
      try {
        wait(LOOK_MILLIS);
      } catch (InterruptedException e) {
        // An execution is not interruptible; the caller may look at its flag afterwards.
        interrupted = true;
      }
      if (result != null) {
        break;
      }
      Signal signal = config.control().checkpoint();
      if (signal == Signal.CONTINUE) {
        continue;
      }
      if (!isStopping) {
        isStopping = true;
        stopAt = System.nanoTime() + grace.toNanos();
      } else if (System.nanoTime() - stopAt >= 0) {
        abandon(
            new Failed(
                signal == Signal.DEADLINE
                    ? ErrorStatus.MISSED_DEADLINE_TRANSIENT
                    : ErrorStatus.GENERAL_FAILURE,
                "it did not stop when it was told to"));
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return new CallOutcome(result, abandoned);
  }
}
