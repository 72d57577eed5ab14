// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.format;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;

/** What a command answers: data that knows how to show itself. Immutable. */
public interface Result {
  /** Where it will be read. */
  Style style();

  /** For people: lines without a line end after the last. */
  String text();

  /**
   * For programs: writes the fields of one object whose braces the caller writes. Times are in
   * milliseconds and their names end in {@code Millis}, sizes in bytes and {@code Bytes}.
   */
  void json(JsonGenerator json) throws IOException;

  /** Text or JSON, as the style asks. */
  default String show() {
    return style().json() ? Json.line(this) : text();
  }
}
