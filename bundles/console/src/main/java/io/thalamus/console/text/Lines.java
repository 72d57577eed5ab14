// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console.text;

import java.util.ArrayList;
import java.util.List;

/** Collects the lines of a text. Not thread-safe. */
public final class Lines {
  private final List<String> lines = new ArrayList<>();

  /** Adds a line, or the lines of a block. */
  public Lines add(String line) {
    lines.add(line);
    return this;
  }

  /** Adds an empty line, unless nothing stands before it. */
  public Lines gap() {
    if (!lines.isEmpty()) {
      lines.add("");
    }
    return this;
  }

  /** The text without a line end after the last line. */
  @Override
  public String toString() {
    return String.join("\n", lines);
  }
}
