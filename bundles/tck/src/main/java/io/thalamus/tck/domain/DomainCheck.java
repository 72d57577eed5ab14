// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.vectors.Outcome;
import java.util.Objects;

/**
 * One check of a device's buffers. Runs in the calling thread, any number of times.
 *
 * @param name AOSP's name of the test, the element type, and the way to execute where it matters
 * @param body what is tried
 */
public record DomainCheck(String name, Body body) {
  public DomainCheck {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(body, "body");
  }

  /** The body of a check. */
  @FunctionalInterface
  public interface Body {
    /** Returns the outcome; whatever it throws is a fault of the device. */
    Outcome run() throws Exception;
  }
}
