// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A prepared model together with the device it lives on. Thread-safe. Owned by whoever prepared it;
 * a departing device closes it too. While calls run that were given up, closing waits for them.
 */
public final class DevicePreparedModel implements AutoCloseable {
  private static final System.Logger LOG =
      System.getLogger(DevicePreparedModel.class.getPackageName());

  private final RegisteredDevice device;
  private final Object lock = new Object();
  private PreparedModel model;
  private int running;
  private boolean closed;

  DevicePreparedModel(RegisteredDevice device, PreparedModel model) {
    this.device = device;
    this.model = model;
  }

  /** Where it lives. */
  public RegisteredDevice device() {
    return device;
  }

  /** The very object that the device returned, as roles of buffers need it; empty once closed. */
  public Optional<PreparedModel> unwrap() {
    synchronized (lock) {
      return closed ? Optional.empty() : Optional.of(model);
    }
  }

  /**
   * Executes. Never throws for what a device does wrong; the memories of the request stay mapped
   * until the device returns.
   *
   * <p>A CPU device computes in the calling thread. Any other device is called in a thread of the
   * runtime: hardware can hang, and its caller must get an answer all the same.
   */
  public CallOutcome execute(Request request, ExecutionConfig config) {
    if (device.enter() == null) {
      return CallOutcome.of(unavailable());
    }
    ExecutionConfig watched = config.with(watched(config.control()));
    if (!device.isGuarded()) {
      return CallOutcome.of(call(request, watched));
    }
    return device.guard(() -> call(request, watched), config);
  }

  /** Calls the device, which was entered, and leaves it. */
  private ExecutionResult call(Request request, ExecutionConfig config) {
    List<SharedMemory.Lease> leases = new ArrayList<>(request.pools().size());
    PreparedModel entered = enter();
    try {
      if (entered == null) {
        return unavailable();
      }
      for (MemoryPool pool : request.pools()) {
        if (pool instanceof MemoryPool.Shared shared) {
          leases.add(shared.memory().lend());
        }
      }
      ExecutionResult result = entered.execute(request, config);
      return result != null ? result : failed("it returned no result");
    } catch (OutOfMemoryError e) {
      return new ExecutionResult.Failed(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "it ran out of memory: " + e);
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      return failed("it broke: " + e);
    } finally {
      leases.forEach(SharedMemory.Lease::close);
      if (entered != null) {
        exit();
      }
      device.exit();
    }
  }

  private PreparedModel enter() {
    synchronized (lock) {
      if (closed) {
        return null;
      }
      running++;
      return model;
    }
  }

  private void exit() {
    PreparedModel last;
    synchronized (lock) {
      running--;
      last = closed ? takeIfIdle() : null;
    }
    closeNow(last);
  }

  private PreparedModel takeIfIdle() {
    if (running > 0) {
      return null;
    }
    PreparedModel taken = model;
    model = null;
    return taken;
  }

  private ExecutionControl watched(ExecutionControl control) {
    return () -> device.isAbandoned() ? Signal.CANCELLED : control.checkpoint();
  }

  private ExecutionResult unavailable() {
    return new ExecutionResult.Failed(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");
  }

  private static ExecutionResult failed(String message) {
    return new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, message);
  }

  @Override
  public void close() {
    PreparedModel idle;
    synchronized (lock) {
      if (closed) {
        return;
      }
      closed = true;
      idle = takeIfIdle();
    }
    device.forget(this);
    closeNow(idle);
  }

  private void closeNow(PreparedModel open) {
    if (open == null) {
      return;
    }
    try {
      open.close();
    } catch (RuntimeException | LinkageError e) {
      // The next ones must be closed all the same; there is nobody who could mend this one.
      LOG.log(Level.WARNING, device.id() + " failed to close a prepared model", e);
    }
  }
}
