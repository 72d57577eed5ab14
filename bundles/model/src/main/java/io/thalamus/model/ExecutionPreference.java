// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Arrays;
import java.util.Optional;

/** The preference of an application for a compilation. Numbers as in NNAPI. */
public enum ExecutionPreference {
  LOW_POWER(0),
  FAST_SINGLE_ANSWER(1),
  SUSTAINED_SPEED(2);

  private final int code;

  ExecutionPreference(int code) {
    this.code = code;
  }

  /** NNAPI's number, which also enters the cache token. */
  public int code() {
    return code;
  }

  /** The preference with this number, or empty where NNAPI has none. */
  public static Optional<ExecutionPreference> ofCode(int code) {
    return Arrays.stream(values()).filter(preference -> preference.code == code).findFirst();
  }
}
