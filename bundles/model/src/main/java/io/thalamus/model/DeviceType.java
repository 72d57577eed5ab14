// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/** The kind of a device. Numbers as in NN HAL 1.2. */
public enum DeviceType {
  OTHER(1),
  CPU(2),
  GPU(3),
  ACCELERATOR(4);

  private final int code;

  DeviceType(int code) {
    this.code = code;
  }

  /** The HAL's number. */
  public int code() {
    return code;
  }
}
