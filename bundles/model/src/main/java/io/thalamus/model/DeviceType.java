// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/** The kind of a device, as in NN HAL 1.2. */
public enum DeviceType {
  OTHER,
  CPU,
  GPU,
  ACCELERATOR
}
