// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import java.util.List;
import java.util.Objects;

/**
 * The server as its clients see it. Immutable.
 *
 * @param extensions names of the protocol's extensions, in Triton's spelling
 */
public record ServerMetadata(String name, String version, List<String> extensions) {
  public ServerMetadata {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(version, "version");
    extensions = List.copyOf(extensions);
  }
}
