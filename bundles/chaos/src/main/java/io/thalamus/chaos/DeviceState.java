// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import io.thalamus.driver.Checkpoint;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.ErrorStatus;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * The condition of a device with faults, and the calls that wait for a better one. Thread-safe.
 *
 * <p>A device has one life from each activation to the deactivation: a new life begins healthy, and
 * calls of an earlier one are refused.
 */
final class DeviceState {
  /** The longest time that a delayed execution leaves its control unasked. */
  private static final long ASK_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

  private final Consumer<Fault.Kind> counter;
  private int life;
  private int resets;
  private boolean hung;
  private Optional<Long> hungUntil = Optional.empty();
  private int hungCalls;
  private int refusals;
  private boolean exhausted;
  private boolean lost;

  /**
   * A healthy device.
   *
   * @param counter gets each call that stands still or is refused
   */
  DeviceState(Consumer<Fault.Kind> counter) {
    this.counter = counter;
  }

  /** Begins a life. */
  synchronized int begin() {
    life++;
    recover();
    lost = false;
    return life;
  }

  /** Ends a life; its calls end with it. */
  synchronized void end(int number) {
    if (life == number) {
      life++;
      recover();
    }
  }

  /** Resets the device: calls that stand still fail, and the device is healthy again. */
  synchronized void reset() {
    resets++;
    recover();
  }

  private void recover() {
    hung = false;
    refusals = 0;
    exhausted = false;
    notifyAll();
  }

  synchronized void hang(Optional<Duration> time) {
    hung = true;
    hungUntil = time.map(value -> System.nanoTime() + value.toNanos());
  }

  synchronized void exhaust(OptionalInt calls) {
    if (calls.isPresent()) {
      refusals = calls.getAsInt();
    } else {
      exhausted = true;
    }
  }

  /** Notes that the device is lost, and returns whether it was not before. */
  synchronized boolean lose() {
    boolean news = !lost;
    lost = true;
    return news;
  }

  synchronized void find() {
    lost = false;
  }

  /**
   * Lets a call of a life meet the condition. Stands still as long as the device does.
   *
   * @return how the call ends, or null where it goes on
   */
  synchronized Failed meet(int of) {
    if (life != of || lost) {
      return gone();
    }
    if (hung) {
      counter.accept(Fault.Kind.HANG);
      return standStill(of);
    }
    if (exhausted) {
      counter.accept(Fault.Kind.EXHAUST);
      return new Failed(
          ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT,
          "injected: the device has no room until it is reset");
    }
    if (refusals > 0) {
      counter.accept(Fault.Kind.EXHAUST);
      refusals--;
      return new Failed(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT,
          "injected: the device has no room; " + refusals + " more calls are refused");
    }
    return null;
  }

  /** Stands still as hung hardware does: deaf to interrupts, deadlines and cancellation. */
  private Failed standStill(int of) {
    int at = resets;
    boolean interrupted = false;
    hungCalls++;
    try {
      while (hung && life == of && resets == at) {
        long left = hungUntil.map(end -> end - System.nanoTime()).orElse(Long.MAX_VALUE);
        if (left <= 0) {
          hung = false;
          notifyAll();
          break;
        }
        try {
          TimeUnit.NANOSECONDS.timedWait(this, left);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      hungCalls--;
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    if (life != of) {
      return gone();
    }
    return resets == at
        ? null
        : new Failed(
            ErrorStatus.GENERAL_FAILURE, "injected: the device was reset under the execution");
  }

  /**
   * Lets time pass, asking the execution's control and deadline all along.
   *
   * @param at the resets there had been when the execution began: a later one ends the delay
   * @return what the execution ends with, or null where it goes on
   */
  Failed delay(int of, int at, Duration time, ExecutionConfig config) {
    long end = System.nanoTime() + time.toNanos();
    long left = time.toNanos();
    while (left > 0) {
      Failed stopped = Checkpoint.pass(config);
      if (stopped != null) {
        return stopped;
      }
      synchronized (this) {
        if (life != of) {
          return gone();
        }
        if (resets != at) {
          return null;
        }
      }
      LockSupport.parkNanos(Math.min(left, ASK_NANOS));
      if (Thread.currentThread().isInterrupted()) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "interrupted during an injected delay");
      }
      left = end - System.nanoTime();
    }
    return Checkpoint.pass(config);
  }

  /** Returns the number of resets until now. */
  synchronized int resets() {
    return resets;
  }

  private static Failed gone() {
    return new Failed(ErrorStatus.DEVICE_UNAVAILABLE, "the device has gone");
  }

  /** Returns the state as it is now, with the caller's counts. */
  synchronized FaultStatus status(
      List<FaultRule> rules, long executions, Map<Fault.Kind, Long> injected) {
    return new FaultStatus(rules, executions, injected, hung, hungCalls, refusals, exhausted, lost);
  }
}
