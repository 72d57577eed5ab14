// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

/** The end of a call. Names and numbers as in the NDK, without its prefix. */
public enum ResultCode {
  NO_ERROR(0),
  OUT_OF_MEMORY(1),
  INCOMPLETE(2),
  UNEXPECTED_NULL(3),
  BAD_DATA(4),
  OP_FAILED(5),
  BAD_STATE(6),
  UNMAPPABLE(7),
  OUTPUT_INSUFFICIENT_SIZE(8),
  UNAVAILABLE_DEVICE(9),
  MISSED_DEADLINE_TRANSIENT(10),
  MISSED_DEADLINE_PERSISTENT(11),
  RESOURCE_EXHAUSTED_TRANSIENT(12),
  RESOURCE_EXHAUSTED_PERSISTENT(13),
  /** A device went, and took with it state that was nowhere else. */
  DEAD_OBJECT(14);

  private final int code;

  ResultCode(int code) {
    this.code = code;
  }

  /** The NDK's number. */
  public int code() {
    return code;
  }
}
