// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.util.List;
import org.apache.felix.gogo.jline.Builtin;
import org.apache.felix.gogo.jline.Posix;
import org.apache.felix.gogo.jline.Procedural;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;

/**
 * Gogo's own commands, without the terminal and the session that its bundle would open. Stateless.
 */
public final class ScriptCommands {
  private static final String SCOPE = "gogo";
  private static final List<String> FILES =
      List.of(
          "cat", "echo", "grep", "sort", "sleep", "cd", "pwd", "ls", "head", "tail", "wc", "date");
  private static final List<String> FLOW =
      List.of("each", "if", "not", "throw", "try", "until", "while", "break", "continue");
  private static final List<String> WORDS =
      List.of("format", "getopt", "new", "set", "tac", "type", "jobs", "fg", "bg");
  private static final List<String> SCREEN = List.of("less", "watch", "nano", "clear", "ttop");
  private static final List<String> KEYS =
      List.of("keymap", "setopt", "unsetopt", "complete", "history", "widget");
  private static final List<String> TAB = List.of("__files", "__directories", "__usage_completion");

  private ScriptCommands() {}

  /** Adds what a script needs, unless Gogo's bundle or an earlier script has done so. */
  public static void addTo(CommandProcessorImpl processor) {
    if (!processor.getCommands().contains(SCOPE + ":echo")) {
      Posix files = new Posix(processor);
      FILES.forEach(name -> processor.addCommand(SCOPE, files, name));
      Procedural flow = new Procedural();
      FLOW.forEach(name -> processor.addCommand(SCOPE, flow, name));
      Builtin words = new Builtin();
      WORDS.forEach(name -> processor.addCommand(SCOPE, words, name));
    }
  }

  /** Adds what needs a terminal. */
  static void addScreenTo(CommandProcessorImpl processor) {
    addTo(processor);
    Posix files = new Posix(processor);
    SCREEN.forEach(name -> processor.addCommand(SCOPE, files, name));
    Builtin keys = new Builtin();
    KEYS.forEach(name -> processor.addCommand(SCOPE, keys, name));
    TAB.forEach(name -> processor.addCommand(SCOPE, keys, name));
  }
}
