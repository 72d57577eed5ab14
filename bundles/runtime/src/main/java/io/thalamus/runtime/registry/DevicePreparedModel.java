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
import java.util.concurrent.atomic.AtomicReference;

/**
 * A prepared model together with the device it lives on. Thread-safe. Owned by whoever prepared it;
 * a departing device closes it too.
 */
public final class DevicePreparedModel implements AutoCloseable {
  private static final System.Logger LOG =
      System.getLogger(DevicePreparedModel.class.getPackageName());

  private final RegisteredDevice device;
  private final AtomicReference<PreparedModel> model;

  DevicePreparedModel(RegisteredDevice device, PreparedModel model) {
    this.device = device;
    this.model = new AtomicReference<>(model);
  }

  /** Where it lives. */
  public RegisteredDevice device() {
    return device;
  }

  /** The very object that the device returned, as roles of buffers need it; empty once closed. */
  public Optional<PreparedModel> unwrap() {
    return Optional.ofNullable(model.get());
  }

  /**
   * Executes in the calling thread. Never throws for what a device does wrong; the memories of the
   * request stay mapped until the device returns.
   */
  public ExecutionResult execute(Request request, ExecutionConfig config) {
    if (device.enter() == null) {
      return unavailable();
    }
    List<SharedMemory.Lease> leases = new ArrayList<>(request.pools().size());
    try {
      PreparedModel entered = model.get();
      if (entered == null) {
        return unavailable();
      }
      for (MemoryPool pool : request.pools()) {
        if (pool instanceof MemoryPool.Shared shared) {
          leases.add(shared.memory().lend());
        }
      }
      ExecutionResult result = entered.execute(request, config.with(watched(config.control())));
      return result != null ? result : failed("it returned no result");
    } catch (OutOfMemoryError e) {
      return new ExecutionResult.Failed(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, device.id() + " ran out of memory: " + e);
    } catch (RuntimeException | LinkageError | AssertionError | StackOverflowError e) {
      return failed("it broke: " + e);
    } finally {
      leases.forEach(SharedMemory.Lease::close);
      device.exit();
    }
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
    PreparedModel open = model.getAndSet(null);
    if (open != null) {
      device.forget(this);
      try {
        open.close();
      } catch (RuntimeException | LinkageError e) {
        // The next ones must be closed all the same; there is nobody who could mend this one.
        LOG.log(Level.WARNING, device.id() + " failed to close a prepared model", e);
      }
    }
  }
}
