// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.memory.Leases;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Supervisor.Work;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A buffer together with the device that allocated it. Thread-safe. Owned by whoever had it
 * allocated; a departing device closes it too, after its owner could copy the contents out. The
 * driver gets it back when nothing uses it any more: neither executions that rely on it, nor calls,
 * be they abandoned.
 */
public final class DeviceMemory implements DeviceResource {
  private final RegisteredDevice device;
  private final int token;
  private final Consumer<DeviceMemory> onDeparture;

  /** The calls that use it, until its users are gone or the device leaves. */
  private final ReferenceCount calls = new ReferenceCount(this::closeNow);

  private final ReferenceCount users = new ReferenceCount(calls::close);

  /** Null once the driver has it back. */
  private volatile DeviceBuffer buffer;

  DeviceMemory(
      RegisteredDevice device, DeviceBuffer buffer, int token, Consumer<DeviceMemory> onDeparture) {
    this.device = device;
    this.token = token;
    this.buffer = buffer;
    this.onDeparture = onDeparture;
  }

  /** Returns the device it is on. */
  public RegisteredDevice device() {
    return device;
  }

  /** Returns its name in requests; empty once the device has left or the driver has it back. */
  public Optional<MemoryPool> pool() {
    DeviceBuffer open = buffer;
    return calls.isClosed() || open == null
        ? Optional.empty()
        : Optional.of(new MemoryPool.Device(open));
  }

  /** Returns the token that the driver gave it. */
  int token() {
    return token;
  }

  /** Returns the buffer; null when the driver has it back. */
  DeviceBuffer open() {
    return buffer;
  }

  /** Keeps it open until {@link #release}, unless it is closed. */
  public boolean retain() {
    return users.retain();
  }

  /** Ends a use. */
  public void release() {
    users.release();
  }

  /** Keeps the device from leaving until {@link #releaseDevice}: for writes to be recorded. */
  public void retainDevice() {
    device.supervisor().retain();
  }

  /** Ends a {@link #retainDevice}. */
  public void releaseDevice() {
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

  /** The call of a driver with a buffer. */
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

  /** Begins a call that uses it, and returns it; null when the driver has it back. */
  DeviceBuffer enter() {
    return calls.retainUnlessFreed() ? buffer : null;
  }

  /** Ends a call that has begun. */
  void exit() {
    calls.release();
  }

  /** Has the owner copy the contents out, and gives the buffer back whoever uses it. */
  void depart() {
    onDeparture.accept(this);
    users.close();
    calls.close();
  }

  @Override
  public void close() {
    users.close();
  }

  private void closeNow() {
    DeviceBuffer open = buffer;
    buffer = null;
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
