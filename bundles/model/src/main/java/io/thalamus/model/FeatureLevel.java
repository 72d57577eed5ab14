// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/** The versions of the NN HAL that this runtime speaks, oldest first. */
public enum FeatureLevel {
  V1_0(27),
  V1_1(28),
  V1_2(29),
  V1_3(30);

  private final int level;

  FeatureLevel(int level) {
    this.level = level;
  }

  /** NNAPI's number, which is the Android API level that brought it. */
  public int level() {
    return level;
  }

  /** Returns whether this level includes everything of the other. */
  public boolean isAtLeast(FeatureLevel other) {
    return level >= other.level;
  }

  /** The newer of the two. */
  public static FeatureLevel max(FeatureLevel a, FeatureLevel b) {
    return a.isAtLeast(b) ? a : b;
  }
}
