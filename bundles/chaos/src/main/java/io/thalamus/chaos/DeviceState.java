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
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
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

  private final ReentrantLock lock = new ReentrantLock();
  private final Consumer<Fault.Kind> counter;
  private final Condition changed = lock.newCondition();
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
  int begin() {
    lock.lock();
    try {
      life++;
      recover();
      lost = false;
      return life;
    } finally {
      lock.unlock();
    }
  }

  /** Ends a life; its calls end with it. */
  void end(int number) {
    lock.lock();
    try {
      if (life == number) {
        life++;
        recover();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Resets the device: calls that stand still fail, and the device is healthy again. */
  void reset() {
    lock.lock();
    try {
      resets++;
      recover();
    } finally {
      lock.unlock();
    }
  }

  private void recover() {
    hung = false;
    refusals = 0;
    exhausted = false;
    changed.signalAll();
  }

  void hang(Optional<Duration> time) {
    lock.lock();
    try {
      hung = true;
      hungUntil = time.map(value -> System.nanoTime() + value.toNanos());
    } finally {
      lock.unlock();
    }
  }

  void exhaust(OptionalInt calls) {
    lock.lock();
    try {
      if (calls.isPresent()) {
        refusals = calls.getAsInt();
      } else {
        exhausted = true;
      }
    } finally {
      lock.unlock();
    }
  }

  /** Notes that the device is lost, and returns whether it was not before. */
  boolean lose() {
    lock.lock();
    try {
      boolean news = !lost;
      lost = true;
      return news;
    } finally {
      lock.unlock();
    }
  }

  void find() {
    lock.lock();
    try {
      lost = false;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Lets a call of a life meet the condition. Stands still as long as the device does.
   *
   * @return how the call ends, or null where it goes on
   */
  Failed meet(int of) {
    lock.lock();
    try {
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
    } finally {
      lock.unlock();
    }
  }

  /** Stands still as hung hardware does: deaf to interrupts, deadlines and cancellation. */
  private Failed standStill(int of) {
    int at = resets;
    boolean interrupted = false;
    hungCalls++;
    try {
      while (hung && life == of && resets == at) {
        if (hungUntil.isEmpty()) {
          changed.awaitUninterruptibly();
        } else {
          long left = hungUntil.get() - System.nanoTime();
          if (left <= 0) {
            hung = false;
            changed.signalAll();
          } else {
            interrupted |= sleepsInterrupted(left);
          }
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

  private boolean sleepsInterrupted(long nanos) {
    try {
      changed.awaitNanos(nanos);
      return false;
    } catch (InterruptedException e) {
      return true; // the thread is interrupted again when it wakes up
    }
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
      lock.lock();
      try {
        if (life != of) {
          return gone();
        }
        if (resets != at) {
          return null;
        }
        changed.awaitNanos(Math.min(left, ASK_NANOS));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return new Failed(ErrorStatus.GENERAL_FAILURE, "interrupted during an injected delay");
      } finally {
        lock.unlock();
      }
      left = end - System.nanoTime();
    }
    return Checkpoint.pass(config);
  }

  /** Returns the number of resets until now. */
  int resets() {
    lock.lock();
    try {
      return resets;
    } finally {
      lock.unlock();
    }
  }

  private static Failed gone() {
    return new Failed(ErrorStatus.DEVICE_UNAVAILABLE, "the device has gone");
  }

  /** Returns the state as it is now, with the caller's counts. */
  FaultStatus status(List<FaultRule> rules, long executions, Map<Fault.Kind, Long> injected) {
    lock.lock();
    try {
      return new FaultStatus(
          rules, executions, injected, hung, hungCalls, refusals, exhausted, lost);
    } finally {
      lock.unlock();
    }
  }
}
