// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import io.thalamus.console.text.Style;
import java.util.Map;

/** The answer to {@code --help}. */
record Help(Syntax syntax, Style style) implements Result {
  @Override
  public String text() {
    return syntax.help(style);
  }

  @Override
  public Object data() {
    return Map.of("usage", syntax.line());
  }
}
