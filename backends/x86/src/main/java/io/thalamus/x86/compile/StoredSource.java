// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.x86.kernel.StoredProduct.Form;

/** The source of layers that are padded alike, in the forms that they read. Used by one layer. */
final class StoredSource {
  private final ProgramBuilder program;
  private final Place source;

  /** The source as words less the zero point, with its padding; null until it is needed. */
  private Place words;

  /** The source as bytes, with its padding; null until it is needed. */
  private Place bytes;

  StoredSource(ProgramBuilder program, Place source) {
    this.program = program;
    this.source = source;
  }

  /** Returns the source as a form reads it. */
  Place of(Form form, StoredLayer layer) {
    if (form == Form.WORDS) {
      words = words == null ? layer.copy(program, source, true) : words;
      return words;
    }
    if (bytes == null) {
      bytes = layer.isPadded() ? layer.copy(program, source, false) : source;
    }
    return bytes;
  }
}
