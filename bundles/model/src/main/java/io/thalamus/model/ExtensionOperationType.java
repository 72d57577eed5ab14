// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Objects;

/**
 * An operation that NNAPI does not know. Extension and code identify it; the name is for people.
 *
 * @param extension reverse domain name of the extension, for example {@code io.thalamus}
 * @param code the operation's number within its extension, 0 to 65535
 * @param name as the extension spells it
 */
public record ExtensionOperationType(String extension, int code, String name)
    implements OperationType {
  public ExtensionOperationType {
    Objects.requireNonNull(name, "name");
    Extensions.check(extension, code);
  }

  @Override
  public String text() {
    return extension + "/" + name;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ExtensionOperationType that
        && that.code == code
        && that.extension.equals(extension);
  }

  @Override
  public int hashCode() {
    return 31 * extension.hashCode() + code;
  }
}
