// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.memory.Leases;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Supervisor.Work;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A buffer together with the device that allocated it. Thread-safe. Owned by whoever had it
 * allocated; a departing device closes it too, after it has told its owner. The buffer is given
 * back when nobody uses it any more: neither executions that reckon with it, nor calls, be they
 * abandoned.
 */
public final class DeviceMemory implements DeviceResource {
  private final RegisteredDevice device;
  private final Consumer<DeviceMemory> onDeparture;
  private final Object lock = new Object();

  /** Null once given back. */
  private DeviceBuffer buffer;

  private int users;
  private int running;
  private boolean closed;
  private boolean left;

  DeviceMemory(RegisteredDevice device, DeviceBuffer buffer, Consumer<DeviceMemory> onDeparture) {
    this.device = device;
    this.buffer = buffer;
    this.onDeparture = onDeparture;
  }

  /** Where it is. */
  public RegisteredDevice device() {
    return device;
  }

  /** How a request names it; empty once the device has left or the buffer is given back. */
  public Optional<MemoryPool> pool() {
    synchronized (lock) {
      return left || buffer == null ? Optional.empty() : Optional.of(new MemoryPool.Device(buffer));
    }
  }

  /** Keeps it open until {@link #release}, unless it is closed. */
  public boolean retain() {
    synchronized (lock) {
      if (closed) {
        return false;
      }
      users++;
      return true;
    }
  }

  /** Ends a use. */
  public void release() {
    DeviceBuffer last;
    synchronized (lock) {
      users--;
      last = takeIfIdle();
    }
    closeNow(last);
  }

  /** Keeps the device from leaving until {@link #letGo}: what was written is not booked yet. */
  public void hold() {
    device.supervisor().retain();
  }

  /** Ends a {@link #hold}. */
  public void letGo() {
    device.supervisor().release();
  }

  /** Copies the contents out, also while the device leaves or is in quarantine. */
  public Answer<Void> copyTo(SharedMemory destination) {
    return device.copy("copyTo", copying(destination, open -> open.copyTo(destination)));
  }

  /** Copies contents in. */
  public Answer<Void> copyFrom(SharedMemory source, Shape shape) {
    return device.copy("copyFrom", copying(source, open -> open.copyFrom(source, shape)));
  }

  /** What a driver is asked to do with a buffer. */
  @FunctionalInterface
  private interface Copy {
    void of(DeviceBuffer open) throws DeviceException;
  }

  private Work<Void> copying(SharedMemory shared, Copy copy) {
    return (driver, control) -> {
      DeviceBuffer open = enter();
      if (open == null) {
        throw new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");
      }
      try (Leases leases = new Leases()) {
        leases.add(shared);
        copy.of(open);
        return null;
      } finally {
        exit();
      }
    };
  }

  /** Begins a call with it; null where it is given back. */
  DeviceBuffer enter() {
    synchronized (lock) {
      if (buffer != null) {
        running++;
      }
      return buffer;
    }
  }

  /** Ends a call that has begun. */
  void exit() {
    DeviceBuffer last;
    synchronized (lock) {
      running--;
      last = takeIfIdle();
    }
    closeNow(last);
  }

  /** Tells the owner, who can copy the contents out, that the device leaves; then gives it back. */
  void depart() {
    onDeparture.accept(this);
    DeviceBuffer last;
    synchronized (lock) {
      left = true;
      closed = true;
      last = takeIfIdle();
    }
    closeNow(last);
  }

  private DeviceBuffer takeIfIdle() {
    if (!closed || running > 0 || (users > 0 && !left)) {
      return null;
    }
    DeviceBuffer taken = buffer;
    buffer = null;
    return taken;
  }

  @Override
  public void close() {
    DeviceBuffer last;
    synchronized (lock) {
      closed = true;
      last = takeIfIdle();
    }
    closeNow(last);
  }

  private void closeNow(DeviceBuffer open) {
    if (open == null) {
      return;
    }
    // A departure waits for it, as for any other call.
    device.supervisor().retain();
    try {
      device.forget(this);
      device.close("a buffer", open::close);
    } finally {
      device.supervisor().release();
    }
  }
}
