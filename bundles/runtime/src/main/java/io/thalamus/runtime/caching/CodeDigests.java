// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.runtime.registry.RegisteredDevice;

/** Tells one build of the code behind a device from another. Thread-safe. */
@FunctionalInterface
public interface CodeDigests {
  /** The Java platform, whose code nothing else here names. */
  String PLATFORM = Runtime.version() + " " + System.getProperty("os.arch");

  /**
   * A digest of all code that decides what a device compiles, in 32 bytes.
   *
   * @throws java.io.IOException where the code cannot be read
   */
  byte[] of(RegisteredDevice device) throws java.io.IOException;
}
