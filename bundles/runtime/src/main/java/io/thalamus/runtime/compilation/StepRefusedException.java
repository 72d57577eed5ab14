// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.runtime.registry.RegisteredDevice;

/** The failure of a device to prepare its step. */
final class StepRefusedException extends Exception {
  private static final long serialVersionUID = 1L;

  private final transient RegisteredDevice device;
  private final NeuralNetworksException reason;

  StepRefusedException(RegisteredDevice device, NeuralNetworksException reason) {
    super(reason);
    this.device = device;
    this.reason = reason;
  }

  RegisteredDevice device() {
    return device;
  }

  NeuralNetworksException reason() {
    return reason;
  }
}
