// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/** How a model's work ranks among the models of the same application. */
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
}
