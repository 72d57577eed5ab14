// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.DeviceHealth;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceInfo;
import java.util.Optional;

/**
 * A device service, serving or refused. Not thread-safe: guarded by the registry's lock; a copy can
 * be described without it.
 */
final class DeviceEntry {
  private final DeviceInfo info;
  private final String id;
  private final ServiceFacts service;
  private final boolean isImpossible;
  private final boolean isOnTrial;

  /** Null once the device has left. */
  private Device device;

  /** Why it is refused, or nothing. */
  private String reason;

  /** Null while it does not serve. */
  private RegisteredDevice registered;

  /**
   * A device that does not serve yet.
   *
   * @param info null where it tells nothing useful
   * @param service what its registration says
   * @param objection why it never can serve, or nothing
   * @param isOnTrial whether it is only looked at
   */
  DeviceEntry(
      Device device,
      DeviceInfo info,
      String id,
      ServiceFacts service,
      String objection,
      boolean isOnTrial) {
    this.device = device;
    this.info = info;
    this.id = id;
    this.service = service;
    this.isImpossible = !objection.isEmpty();
    this.isOnTrial = isOnTrial;
    this.reason = objection;
  }

  DeviceEntry copy() {
    DeviceEntry copy =
        new DeviceEntry(device, info, id, service, isImpossible ? reason : "", isOnTrial);
    copy.reason = reason;
    copy.registered = registered;
    return copy;
  }

  boolean isOf(Device service) {
    return device == service;
  }

  /** Whether it tells facts. */
  boolean hasFacts() {
    return info != null;
  }

  /** Whether it can never serve. */
  boolean isImpossible() {
    return isImpossible;
  }

  /** Whether plans may name it, and nothing is prepared on it. */
  boolean isOnTrial() {
    return isOnTrial;
  }

  /** Whether another one would be known by the same name. */
  boolean hasNameOf(DeviceEntry other) {
    return id.equals(other.id) || info.name().equals(other.info.name());
  }

  /** The device as it serves, or has served. */
  Optional<RegisteredDevice> registered() {
    return Optional.ofNullable(registered);
  }

  RegisteredDevice register(Watch watch) {
    reason = "";
    registered = new RegisteredDevice(id, device, info, service, watch);
    return registered;
  }

  void refuse(String why) {
    reason = why;
  }

  String reason() {
    return reason;
  }

  /** What is shown of it from now on must not keep its bundle. */
  void leave() {
    device = null;
  }

  String name() {
    return info == null ? id : info.name();
  }

  boolean isReference() {
    return registered != null && registered.isReference();
  }

  /** Whether it has left, and no thread is in it any more. */
  boolean isGone() {
    return device == null && !registered.isStuck();
  }

  DeviceDescription describe() {
    if (registered == null) {
      return describe(State.REFUSED, reason, DeviceHealth.GOOD);
    }
    DeviceHealth health = registered.health();
    if (isOnTrial) {
      return describe(State.ON_TRIAL, "a plan looks at it", health);
    }
    return health.quarantinedUntil().isPresent()
        ? describe(State.QUARANTINED, registered.quarantineReason(), health)
        : describe(State.AVAILABLE, reason, health);
  }

  DeviceDescription describeDeparted() {
    DeviceHealth health = registered.health();
    return device != null
        ? describe(State.LEAVING, "its running calls are waited for", health)
        : describe(State.LEAKED, "it has left, but does not give back its threads", health);
  }

  private DeviceDescription describe(State state, String why, DeviceHealth health) {
    return new DeviceDescription(
        id,
        info.name(),
        info.version(),
        info.type(),
        info.featureLevel(),
        info.capabilities(),
        info.cacheNeeds().modelCacheFiles(),
        info.cacheNeeds().dataCacheFiles(),
        info.memoryKinds(),
        info.memoryDomain(),
        info.extensions(),
        info.exactQuantized(),
        state,
        why,
        health);
  }
}
