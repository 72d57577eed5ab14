// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.fault;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;

/**
 * A device that can be hurt: hands every call on to the device within, as far as its injector lets
 * it. Thread-safe. Borrows both; closing it ends every call that stands still and refuses all later
 * ones, and is to come before the device within is closed.
 *
 * <p>Executions are struck by all faults; prepares, allocations and copies meet a device that
 * hangs, is exhausted or lost. Bursts that the device within serves itself go round the injector.
 */
public class FaultyDevice implements Device, AutoCloseable {
  private final Device within;
  private final FaultInjector injector;
  private final int life;

  /** Begins a life of a device without memory of its own, in good health. */
  public FaultyDevice(Device within, FaultInjector injector) {
    this(within, injector, () -> {});
  }

  /**
   * Begins a life of the device, in good health.
   *
   * @param memoryLoss told when the device loses what its memory holds: by a crash, by a reset, and
   *     when it is lost; returns at once
   */
  public FaultyDevice(Device within, FaultInjector injector, Runnable memoryLoss) {
    this.within = Objects.requireNonNull(within, "within");
    this.injector = Objects.requireNonNull(injector, "injector");
    this.life = injector.begin(memoryLoss);
  }

  @Override
  public final DeviceInfo info() {
    return within.info();
  }

  @Override
  public final BitSet supportedOperations(Model model) throws DeviceException {
    return within.supportedOperations(model);
  }

  @Override
  public final PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    meet();
    return new FaultyPreparedModel(within.prepare(model, config), injector, life);
  }

  @Override
  public final PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
    meet();
    return new FaultyPreparedModel(within.prepareFromCache(config), injector, life);
  }

  /** The device within knows only the models that it returned itself. */
  @Override
  public final DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles)
      throws DeviceException {
    meet();
    List<BufferRole> inner = roles.stream().map(FaultyDevice::unwrap).toList();
    return new FaultyBuffer(within.allocate(desc, inner), this);
  }

  private static BufferRole unwrap(BufferRole role) {
    return role.model() instanceof FaultyPreparedModel faulty
        ? new BufferRole(faulty.within(), role.direction(), role.index(), role.frequency())
        : role;
  }

  /** What any call but an execution meets first. */
  final void meet() throws DeviceException {
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
