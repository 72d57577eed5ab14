// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.Device;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntSupplier;

/**
 * Who is in a device, and what is open there: what its departure waits for. Thread-safe. Once the
 * device has left, nothing here refers to it.
 */
final class Occupancy {
  private final Object lock = new Object();
  private final Set<DevicePreparedModel> prepared = new HashSet<>();
  private final Set<DeviceMemory> buffers = new HashSet<>();
  private Device device;
  private int running;
  private boolean leaving;
  private volatile boolean abandoned;

  Occupancy(Device device) {
    this.device = device;
  }

  /**
   * What was left when nobody waited any longer.
   *
   * @param running how many calls
   */
  record Left(int running, List<DevicePreparedModel> models) {}

  boolean isLeaving() {
    synchronized (lock) {
      return leaving;
    }
  }

  /** Whether nobody waits any longer for the calls that run. */
  boolean isAbandoned() {
    return abandoned;
  }

  /** Begins a call, unless the device is leaving: then null. */
  Device enter() {
    synchronized (lock) {
      if (leaving) {
        return null;
      }
      running++;
      return device;
    }
  }

  /** Begins a call that gives something back, which is welcome even while the device leaves. */
  void beginClosing() {
    synchronized (lock) {
      running++;
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

  /**
   * Keeps a model, to be closed at the latest when the device leaves.
   *
   * @return whether it does; it is too late for one that comes after the departure
   */
  boolean adopt(DevicePreparedModel model) {
    synchronized (lock) {
      // While it is leaving, the departure waits for the call that prepared, and closes it after.
      return !abandoned && prepared.add(model);
    }
  }

  void forget(DevicePreparedModel model) {
    synchronized (lock) {
      prepared.remove(model);
    }
  }

  /** Keeps a buffer, as {@link #adopt(DevicePreparedModel)} keeps a model. */
  boolean adopt(DeviceMemory buffer) {
    synchronized (lock) {
      return !abandoned && buffers.add(buffer);
    }
  }

  void forget(DeviceMemory buffer) {
    synchronized (lock) {
      buffers.remove(buffer);
    }
  }

  /** The buffers that are kept at the moment. */
  List<DeviceMemory> buffers() {
    synchronized (lock) {
      return List.copyOf(buffers);
    }
  }

  /** Begins a call even while the device leaves, unless it has left. */
  boolean enterToRescue() {
    synchronized (lock) {
      if (device == null) {
        return false;
      }
      running++;
      return true;
    }
  }

  /** Refuses calls from now on. */
  void refuseCalls() {
    synchronized (lock) {
      leaving = true;
    }
  }

  /**
   * Waits for the running calls, and forgets the device.
   *
   * @param end how long to wait for them, as {@link System#nanoTime} gives it
   * @param stuck how many of them are not waited for
   */
  Left drain(long end, IntSupplier stuck) {
    synchronized (lock) {
      leaving = true;
      awaitIdle(end, stuck);
      device = null;
      abandoned = true;
      return new Left(running, List.copyOf(prepared));
    }
  }

  /** Waits for the calls that run, as {@link #drain} does. */
  void awaitCalls(long end, IntSupplier stuck) {
    synchronized (lock) {
      awaitIdle(end, stuck);
    }
  }

  /** Under the lock. */
  private void awaitIdle(long end, IntSupplier stuck) {
    boolean interrupted = false;
    while (running > stuck.getAsInt()) {
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
}
