// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Arrays;
import java.util.Optional;

/** The rank of a model's work among the models of the same application. */
public enum Priority {
  LOW(0, 90),
  MEDIUM(1, 100),
  HIGH(2, 110);

  private final int halCode;
  private final int ndkCode;

  Priority(int halCode, int ndkCode) {
    this.halCode = halCode;
    this.ndkCode = ndkCode;
  }

  /** The number in NN HAL 1.3. */
  public int halCode() {
    return halCode;
  }

  /** The number in NNAPI, which also enters the cache token. */
  public int ndkCode() {
    return ndkCode;
  }

  /** The priority with this number in NN HAL 1.3, or empty where there is none. */
  public static Optional<Priority> ofHalCode(int code) {
    return Arrays.stream(values()).filter(priority -> priority.halCode == code).findFirst();
  }
}
