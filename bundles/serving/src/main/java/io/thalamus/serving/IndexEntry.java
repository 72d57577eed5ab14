// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import java.util.Objects;

/**
 * A version in the repository. Immutable.
 *
 * @param reason one line: why it is not ready, or why a changed file did not take over; else empty
 * @param digest SHA-256 of the file in hexadecimal digits; empty if it was not read
 */
public record IndexEntry(
    String name, String version, ModelState state, String reason, String digest) {
  public IndexEntry {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(version, "version");
    Objects.requireNonNull(state, "state");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(digest, "digest");
  }
}
