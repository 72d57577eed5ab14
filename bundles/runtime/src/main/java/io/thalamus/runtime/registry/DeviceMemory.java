// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A buffer together with the device that allocated it. Thread-safe. Owned by whoever had it
 * allocated; a departing device closes it too, after it has told its owner. The buffer is given
 * back when nobody uses it any more: neither executions that reckon with it, nor calls, be they
 * abandoned.
 */
public final class DeviceMemory implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(DeviceMemory.class.getPackageName());

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
    device.beginClosing();
  }

  /** Ends a {@link #hold}. */
  public void letGo() {
    device.exit();
  }

  /** Copies the contents out, while the device leaves or is in quarantine too. */
  public CallOutcome copyTo(SharedMemory destination) {
    return device
        .buffers()
        .copy("copyTo", () -> copy(destination, open -> open.copyTo(destination)));
  }

  /** Copies contents in. */
  public CallOutcome copyFrom(SharedMemory source, Shape shape) {
    return device
        .buffers()
        .copy("copyFrom", () -> copy(source, open -> open.copyFrom(source, shape)));
  }

  /** What a device is asked to do with a buffer. */
  @FunctionalInterface
  private interface Copy {
    void of(DeviceBuffer open) throws DeviceException;
  }

  private CallOutcome copy(SharedMemory shared, Copy copy) {
    DeviceBuffer open = enter();
    if (open == null) {
      return CallOutcome.refused(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");
    }
    SharedMemory.Lease lease = shared.lend();
    try {
      copy.of(open);
      return CallOutcome.answered(new Completed(List.of(), Timing.NONE));
    } catch (DeviceException e) {
      ErrorStatus status =
          e.status() == ErrorStatus.NONE || e.status() == ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
              ? ErrorStatus.GENERAL_FAILURE
              : e.status();
      return CallOutcome.answered(new Failed(status, String.valueOf(e.getMessage())));
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      return CallOutcome.answered(new Failed(ErrorStatus.GENERAL_FAILURE, "it broke: " + e));
    } finally {
      lease.close();
      exit();
    }
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
    device.beginClosing();
    try {
      device.buffers().forget(this);
      device.close(() -> closeQuietly(open));
    } finally {
      device.exit();
    }
  }

  private void closeQuietly(DeviceBuffer open) {
    try {
      open.close();
    } catch (RuntimeException | LinkageError e) {
      // The next ones must be closed all the same; there is nobody who could mend this one.
      LOG.log(Level.WARNING, device.id() + " failed to close a buffer", e);
    }
  }
}
