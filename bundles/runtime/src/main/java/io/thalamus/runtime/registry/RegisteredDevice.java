// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.DeviceInfo;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import java.time.Duration;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/**
 * A device as long as it is here, and the only way to call it. Thread-safe.
 *
 * <p>Calls are counted, so that a departure can wait for them. Once the device has left, every call
 * is refused, its prepared models are closed, and nothing here refers to its bundle any more.
 */
public final class RegisteredDevice {
  /** The name of the CPU device that everything falls back to. */
  public static final String REFERENCE_NAME = "thalamus-cpu";

  /** How long a device may take to stop once it was told to, before its caller goes on. */
  private static final Duration GRACE = Duration.ofMillis(500);

  private final String id;
  private final DeviceInfo info;
  private final Object lock = new Object();
  private final Set<DevicePreparedModel> prepared = new HashSet<>();
  private final Set<GuardedCall> calls = new HashSet<>();
  private final CallThreads threads;
  private Device device;
  private int running;
  private boolean leaving;
  private volatile boolean abandoned;

  /** A device that serves, called in threads of the runtime where it is no CPU device. */
  RegisteredDevice(String id, Device device, DeviceInfo info, CallThreads threads) {
    this.id = id;
    this.device = device;
    this.info = info;
    this.threads = threads;
  }

  /** A device that serves, called in the threads of its callers. */
  public RegisteredDevice(String id, Device device, DeviceInfo info) {
    this(id, device, info, null);
  }

  /** The short name, for example {@code cpu}. */
  public String id() {
    return id;
  }

  /** The facts, as they were when the device arrived. */
  public DeviceInfo info() {
    return info;
  }

  /** Whether it is the CPU device that everything falls back to. */
  public boolean isReference() {
    return info.type() == DeviceType.CPU && info.name().equals(REFERENCE_NAME);
  }

  /** Whether its callers do not wait for it for ever. */
  public boolean isGuarded() {
    return threads != null && info.type() != DeviceType.CPU;
  }

  /** Makes a call, which was entered, in another thread. */
  CallOutcome guard(Supplier<ExecutionResult> work, ExecutionConfig config) {
    GuardedCall call = new GuardedCall(work);
    synchronized (lock) {
      calls.add(call);
    }
    try {
      threads.execute(call);
    } catch (RejectedExecutionException e) {
      exit();
      return CallOutcome.of(
          new ExecutionResult.Failed(
              ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "too many calls wait for devices"));
    }
    try {
      return call.await(config, GRACE);
    } finally {
      synchronized (lock) {
        calls.remove(call);
      }
    }
  }

  /** Whether it takes work. */
  public boolean isServing() {
    synchronized (lock) {
      return !leaving;
    }
  }

  /** Whether its departure no longer waits for its running calls. */
  public boolean isAbandoned() {
    return abandoned;
  }

  /**
   * What the device says of the operations of the main graph.
   *
   * @return what it promised; nothing where it failed to answer
   */
  public Support supportedOperations(Model model) {
    Device entered = enter();
    if (entered == null) {
      return Support.none("it has left");
    }
    try {
      BitSet answer = entered.supportedOperations(model);
      int operations = model.main().operations().size();
      if (answer == null || answer.length() > operations) {
        return Support.none("its answer does not have " + operations + " flags");
      }
      return new Support((BitSet) answer.clone(), "it does not support it");
    } catch (DeviceException e) {
      return Support.none("it refused the model: " + e.getMessage());
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      return Support.none("it broke when asked: " + e);
    } finally {
      exit();
    }
  }

  /**
   * Prepares a model. The result is owned by the caller, and closed at the latest when the device
   * leaves.
   *
   * @throws DeviceException with what the device says; DEVICE_UNAVAILABLE where it has left
   */
  public DevicePreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    Device entered = enter();
    if (entered == null) {
      throw new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, id + " has left");
    }
    try {
      PreparedModel answer = entered.prepare(model, config);
      if (answer == null) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, id + " prepared nothing");
      }
      DevicePreparedModel handle = new DevicePreparedModel(this, answer);
      boolean isTooLate;
      synchronized (lock) {
        // While it is leaving, the departure waits for this call, and closes the model after it.
        isTooLate = abandoned;
        if (!isTooLate) {
          prepared.add(handle);
        }
      }
      if (isTooLate) {
        handle.close();
        throw new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, id + " left meanwhile");
      }
      return handle;
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, id + " broke: " + e, e);
    } finally {
      exit();
    }
  }

  /** Begins a call, unless the device leaves: then null. */
  Device enter() {
    synchronized (lock) {
      if (leaving) {
        return null;
      }
      running++;
      return device;
    }
  }

  /** Ends a call. */
  void exit() {
    synchronized (lock) {
      running--;
      if (running == 0) {
        lock.notifyAll();
      }
    }
  }

  void forget(DevicePreparedModel model) {
    synchronized (lock) {
      prepared.remove(model);
    }
  }

  /** Refuses calls from now on. */
  void refuseCalls() {
    synchronized (lock) {
      leaving = true;
    }
  }

  /**
   * Waits for the running calls and closes the prepared models; forgets the device. What calls that
   * were abandoned still use is closed when they return.
   *
   * @param patience how long to wait before the calls that still run are abandoned
   * @return how many calls were abandoned
   */
  int drain(Duration patience) {
    List<DevicePreparedModel> left;
    List<GuardedCall> waiting;
    int stuck;
    synchronized (lock) {
      leaving = true;
      awaitCalls(System.nanoTime() + patience.toNanos());
      stuck = running;
      waiting = List.copyOf(calls);
      device = null;
      left = List.copyOf(prepared);
      abandoned = true;
    }
    waiting.forEach(
        call ->
            call.abandon(
                new ExecutionResult.Failed(
                    ErrorStatus.DEVICE_UNAVAILABLE, "it left before it was done")));
    left.forEach(DevicePreparedModel::close);
    return stuck;
  }

  private void awaitCalls(long end) {
    boolean interrupted = false;
    while (running > 0) {
      long nanos = end - System.nanoTime();
      if (nanos <= 0) {
        break;
      }
      try {
        lock.wait(nanos / 1_000_000, (int) (nanos % 1_000_000));
      } catch (InterruptedException e) {
        // Whoever stops the bundle is in a hurry: wait no longer.
        interrupted = true;
        break;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public String toString() {
    return id;
  }

  /**
   * What a device promised.
   *
   * @param operations the operations that it supports
   * @param reason why it does not support the others
   */
  public record Support(BitSet operations, String reason) {
    static Support none(String reason) {
      return new Support(new BitSet(), reason);
    }
  }
}
