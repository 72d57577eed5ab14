// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/** The result of a call to a device. Names and numbers as in NN HAL 1.3. */
public enum ErrorStatus {
  NONE(0),
  /** The device cannot serve now; it may later. */
  DEVICE_UNAVAILABLE(1),
  GENERAL_FAILURE(2),
  /** An output buffer is too small; the shapes needed come with the answer. */
  OUTPUT_INSUFFICIENT_SIZE(3),
  INVALID_ARGUMENT(4),
  /** The deadline was missed this time; the same call may succeed later. */
  MISSED_DEADLINE_TRANSIENT(5),
  /** The deadline cannot be met; a later try is pointless. */
  MISSED_DEADLINE_PERSISTENT(6),
  /** Resources are short this time. */
  RESOURCE_EXHAUSTED_TRANSIENT(7),
  /** The call needs more than the device ever has. */
  RESOURCE_EXHAUSTED_PERSISTENT(8);

  private final int code;

  ErrorStatus(int code) {
    this.code = code;
  }

  /** The HAL's number. */
  public int code() {
    return code;
  }
}
