// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.runtime.registry.DeviceRegistry;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The devices that a compilation may use: all, or the named ones. Immutable.
 *
 * @param withTrials whether devices on trial can be named too: for a plan that nobody prepares
 */
record DeviceSelection(DeviceRegistry registry, List<String> names, boolean withTrials) {
  /** Returns the devices that can be named. */
  private List<RegisteredDevice> here() {
    List<RegisteredDevice> here = new ArrayList<>(registry.devices());
    if (withTrials) {
      here.addAll(registry.onTrial());
    }
    return here;
  }

  /** Returns the selected devices that are present, in the order in which ties are broken. */
  List<RegisteredDevice> now() {
    if (names.isEmpty()) {
      return registry.devices();
    }
    List<RegisteredDevice> here = here();
    List<RegisteredDevice> chosen = new ArrayList<>();
    for (String name : names) {
      find(here, name).ifPresent(chosen::add);
    }
    return chosen;
  }

  /**
   * Refuses unknown names, and the same device twice.
   *
   * @throws NeuralNetworksException with BAD_DATA; with UNAVAILABLE_DEVICE for one in quarantine
   */
  void check() throws NeuralNetworksException {
    List<RegisteredDevice> here = here();
    List<RegisteredDevice> seen = new ArrayList<>();
    for (String name : names) {
      Optional<RegisteredDevice> quarantined = find(registry.quarantined(), name);
      if (quarantined.isPresent()) {
        throw new NeuralNetworksException(
            ResultCode.UNAVAILABLE_DEVICE,
            "the device '%s' is in quarantine: %s; nn:devices says until when"
                .formatted(name, quarantined.get().quarantineReason()));
      }
      RegisteredDevice device =
          find(here, name)
              .orElseThrow(
                  () ->
                      NeuralNetworksException.badData(
                          "no device '" + name + "' is here; there are: " + list(here)));
      if (seen.contains(device)) {
        throw NeuralNetworksException.badData("the device '" + name + "' is named twice");
      }
      seen.add(device);
    }
  }

  /** Returns the reference, whether it is selected or not. */
  Optional<RegisteredDevice> reference() {
    return registry.devices().stream().filter(RegisteredDevice::isReference).findFirst();
  }

  private static Optional<RegisteredDevice> find(List<RegisteredDevice> here, String name) {
    return here.stream()
        .filter(device -> device.id().equals(name) || device.info().name().equals(name))
        .findFirst();
  }

  private static String list(List<RegisteredDevice> here) {
    return here.isEmpty()
        ? "none"
        : here.stream().map(RegisteredDevice::id).collect(Collectors.joining(", "));
  }
}
