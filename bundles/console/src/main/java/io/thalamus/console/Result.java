// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import io.thalamus.console.text.Style;

/**
 * The answer of a command: data that can be shown to people and to programs. Immutable; usually a
 * record, whose components {@link Json} writes as they stand.
 */
public interface Result {
  /** Returns what the reader understands. */
  Style style();

  /** Returns the text for people: lines without a line end after the last. */
  String text();

  /**
   * Returns what programs get: a record or a map, which {@link Json} writes as one object. Field
   * names are an interface of the command.
   */
  default Object data() {
    return this;
  }

  /** Returns text or JSON, as the style asks. */
  default String show() {
    return style().json() ? Json.line(data()) : text();
  }
}
