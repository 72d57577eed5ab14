// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import java.io.IOException;

/** How a command is used. */
record Help(Syntax syntax, Style style) implements Result {
  @Override
  public String text() {
    return syntax.help(style);
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeStringField("usage", syntax.line());
  }
}
