// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import java.util.List;
import java.util.Objects;

/**
 * A device with faults: hands every call on to the device within, as far as its injector lets it.
 * Thread-safe. Borrows both; closing it ends every call that stands still and refuses all later
 * ones, and is to come before the device within is closed.
 *
 * <p>All faults strike executions; prepares, allocations and copies meet a device that hangs, is
 * exhausted or lost. A crash, a reset and a loss take the contents of the device's buffers. The
 * device serves no bursts itself, so that requests by burst are executions like all others.
 */
public final class FaultyDevice extends DelegatingDevice implements AutoCloseable {
  private final FaultInjector injector;
  private final int life;

  /** Begins a life of the device, in good health. */
  public FaultyDevice(Device within, FaultInjector injector) {
    super(within);
    this.injector = Objects.requireNonNull(injector, "injector");
    this.life = injector.begin();
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    meet();
    return new FaultyPreparedModel(this, super.prepare(model, config), injector, life);
  }

  @Override
  public PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
    meet();
    return new FaultyPreparedModel(this, super.prepareFromCache(config), injector, life);
  }

  @Override
  public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles) throws DeviceException {
    meet();
    return new FaultyBuffer(super.allocate(desc, roles), this, injector);
  }

  /** Lets any call but an execution pass, or ends it. */
  void meet() throws DeviceException {
    Failed failure = injector.beforeCall(life);
    if (failure != null) {
      throw new DeviceException(failure.status(), failure.message());
    }
  }

  @Override
  public void close() {
    injector.end(life);
  }
}
