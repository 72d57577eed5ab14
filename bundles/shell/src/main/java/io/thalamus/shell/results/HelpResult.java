// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import java.util.Map;
import java.util.Set;

/**
 * The answer of {@code nn:help}. Immutable.
 *
 * @param commands those of Thalamus, with what each does
 * @param others those of others, by scope
 */
public record HelpResult(Map<String, String> commands, Map<String, Set<String>> others, Style style)
    implements Result {

  /** Returns what one command says of itself. */
  public static Result of(Syntax syntax, Style style) {
    return new One(syntax.line(), syntax.help(style), style);
  }

  @Override
  public String text() {
    Table table = new Table(style, "command", "what it does");
    commands.forEach((name, description) -> table.row(name, description));
    Lines lines = new Lines().add(table.text()).gap();
    Table rest = new Table(style, "", "");
    rest.row("exit", "ends the shell; exit N with this status");
    others.forEach((scope, names) -> rest.row(scope + ":", String.join(" ", names)));
    lines.add(rest.text()).gap();
    return lines.add("help COMMAND or COMMAND --help says more; Tab completes").toString();
  }

  private record One(String usage, String text, Style style) implements Result {
    @Override
    public Object data() {
      return Map.of("usage", usage);
    }
  }
}
