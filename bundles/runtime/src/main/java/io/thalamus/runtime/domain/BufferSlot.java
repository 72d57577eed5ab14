// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.DeviceException;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.registry.DeviceMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The buffer of a memory on the one device that all its roles lead to, if that has room for it.
 * Owned by a {@link MemoryState}, and used under its lock.
 *
 * <p>A buffer is bound to the prepared models of a moment. When plans have changed, the next
 * execution has another one allocated.
 */
final class BufferSlot {
  private final RoleSet roleSet;
  private final List<RoleHost> hosts;
  private final Runnable beforeDrop;
  private final Consumer<DeviceMemory> onDeparture;

  /** Null if there is none. */
  private DeviceMemory buffer;

  /** The plans whose steps the buffer can be given to. */
  private List<PreparedPlan> served = List.of();

  /** The plans for which a device was last looked for; null to look again in any case. */
  private List<PreparedPlan> considered;

  private String objection = "";

  /**
   * A slot without a buffer.
   *
   * @param beforeDrop moves the contents out of the buffer, before another one takes its place
   * @param onDeparture called without the lock when the device of the buffer leaves
   */
  BufferSlot(RoleSet roleSet, Runnable beforeDrop, Consumer<DeviceMemory> onDeparture) {
    this.roleSet = roleSet;
    this.hosts = roleSet.hosts();
    this.beforeDrop = beforeDrop;
    this.onDeparture = onDeparture;
  }

  /** Returns the buffer; null if there is none. */
  DeviceMemory buffer() {
    return buffer;
  }

  /** Returns why there is no buffer, for people. */
  String objection() {
    return objection;
  }

  /** Returns whether the application named the devices for one of the roles. */
  boolean isForNamedDevices() {
    return hosts.stream().anyMatch(RoleHost::isForNamedDevices);
  }

  /** Has a buffer for the plans of the moment, if their device has room for one. */
  void allocate() {
    List<PreparedPlan> now = new ArrayList<>(hosts.size());
    try {
      hosts.forEach(host -> now.add(host.acquirePlan().orElse(null)));
      if (!now.equals(considered)) {
        considered = allocate(now) ? now : null;
      }
    } finally {
      now.stream().filter(Objects::nonNull).forEach(PreparedPlan::release);
    }
  }

  /** Returns whether the result is final for these plans. */
  private boolean allocate(List<PreparedPlan> plans) {
    // First: a device may have room for one only.
    if (buffer != null) {
      beforeDrop.run();
      drop();
    }
    Optional<Placement> placement = Placement.of(roleSet, hosts, plans);
    if (placement.isEmpty()) {
      objection = "its roles do not lead to one device";
      return true;
    }
    try {
      buffer =
          placement
              .get()
              .device()
              .allocate(new BufferDesc(roleSet.dimensions()), placement.get().roles(), onDeparture);
      served = plans.stream().filter(Objects::nonNull).toList();
      return true;
    } catch (DeviceException e) {
      objection = e.getMessage();
      return e.status() != ErrorStatus.DEVICE_UNAVAILABLE;
    }
  }

  /**
   * Returns the buffer, retained for the caller, if every step of the plan can be given it now.
   * Allocates another one if the plan is new.
   */
  Optional<DeviceMemory> retain(PreparedPlan plan) {
    if (!served.contains(plan)) {
      allocate();
    }
    return served.contains(plan) && buffer.device().isServing() && buffer.retain()
        ? Optional.of(buffer)
        : Optional.empty();
  }

  /** Closes the buffer, if there is one. */
  void drop() {
    DeviceMemory old = buffer;
    buffer = null;
    served = List.of();
    if (old != null) {
      old.close();
    }
  }

  /** Closes the buffer, which cannot be used any more; the next execution looks for another. */
  void discard() {
    drop();
    considered = null;
  }

  /** Closes the buffer, which its device did not fill. */
  void refuse(String why) {
    drop();
    objection = why;
  }
}
