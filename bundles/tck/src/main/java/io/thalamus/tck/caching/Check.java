// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.caching;

import java.util.Optional;

/**
 * One test of the group. Immutable.
 *
 * @param name AOSP's
 * @param body finds a fault, or none
 */
public record Check(String name, Body body) {
  /** The body of a test. */
  @FunctionalInterface
  public interface Body {
    /** A fault, or none. Whatever is thrown is a fault of the device. */
    Optional<String> run() throws Exception;
  }
}
