// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.DeviceHealth;

/**
 * A device that is here, serving or refused, or that has left. Not thread-safe: its state is
 * guarded by the registry's lock.
 */
final class DeviceEntry {
  /** The place of a device in the registry. */
  enum Presence {
    REFUSED,
    HERE,
    LEAVING,
    GONE
  }

  private final RegisteredDevice device;
  private final boolean isOnTrial;
  private final boolean isImpossible;
  private Presence presence = Presence.REFUSED;
  private String refusal;

  /**
   * A device that does not serve yet.
   *
   * @param objection why it never can serve; empty when it can
   * @param isOnTrial whether plans may name it, and nothing is prepared on it
   */
  DeviceEntry(RegisteredDevice device, String objection, boolean isOnTrial) {
    this.device = device;
    this.isImpossible = !objection.isEmpty();
    this.isOnTrial = isOnTrial;
    this.refusal = objection;
  }

  RegisteredDevice device() {
    return device;
  }

  /** Returns whether it can never serve. */
  boolean isImpossible() {
    return isImpossible;
  }

  boolean isOnTrial() {
    return isOnTrial;
  }

  boolean is(Presence value) {
    return presence == value;
  }

  void enter(Presence value) {
    presence = value;
  }

  void refuse(String why) {
    refusal = why;
  }

  String refusal() {
    return refusal;
  }

  /** Returns whether another one would be known by the same name. */
  boolean hasNameOf(DeviceEntry other) {
    return device.id().equals(other.device.id())
        || device.info().name().equals(other.device.info().name());
  }

  /** Returns whether it is the reference, and not refused. */
  boolean isServingReference() {
    return presence == Presence.HERE && device.isReference();
  }

  DeviceDescription describe() {
    DeviceHealth health = device.health();
    return switch (presence) {
      case REFUSED -> describe(State.REFUSED, refusal, DeviceHealth.GOOD);
      case LEAVING -> describe(State.LEAVING, "its running calls are waited for", health);
      case GONE ->
          describe(State.LEAKED, "it has left, but does not give back its threads", health);
      case HERE -> {
        if (isOnTrial) {
          yield describe(State.ON_TRIAL, "a plan looks at it", health);
        }
        yield device.isSuspended()
            ? describe(State.QUARANTINED, device.quarantineReason(), health)
            : describe(State.AVAILABLE, "", health);
      }
    };
  }

  private DeviceDescription describe(State state, String why, DeviceHealth health) {
    return new DeviceDescription(device.id(), device.info(), state, why, health);
  }
}
