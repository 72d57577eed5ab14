// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.Objects;

/**
 * An operand type that NNAPI does not know. Extension and code identify it; the rest is what a
 * runtime must know to hold such a value without understanding it.
 *
 * @param extension reverse domain name of the extension
 * @param code the type's number within its extension, 0 to 65535
 * @param name as the extension spells it
 * @param isTensor whether values have dimensions
 * @param elementSize bytes of one element
 */
public record ExtensionOperandType(
    String extension, int code, String name, boolean isTensor, int elementSize)
    implements OperandType {
  public ExtensionOperandType {
    Objects.requireNonNull(name, "name");
    Extensions.check(extension, code);
    if (elementSize <= 0) {
      throw new IllegalArgumentException("element size " + elementSize + " is not positive");
    }
  }

  @Override
  public String text() {
    return extension + "/" + name;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ExtensionOperandType that
        && that.code == code
        && that.extension.equals(extension);
  }

  @Override
  public int hashCode() {
    return 31 * extension.hashCode() + code;
  }
}
