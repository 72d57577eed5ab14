// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.batch;

import java.util.List;
import org.apache.felix.gogo.jline.Posix;
import org.apache.felix.gogo.jline.Procedural;
import org.apache.felix.gogo.runtime.CommandProcessorImpl;

/** Gogo's own commands for scripts, without the terminal that its bundle would open. Stateless. */
final class ScriptCommands {
  private static final String SCOPE = "gogo";
  private static final List<String> FILES =
      List.of(
          "cat", "echo", "grep", "sort", "sleep", "cd", "pwd", "ls", "head", "tail", "wc", "date");
  private static final List<String> FLOW =
      List.of("each", "if", "not", "throw", "try", "until", "while", "break", "continue");

  private ScriptCommands() {}

  /** Adds the commands, unless Gogo's bundle or an earlier script has done so. */
  static void addTo(CommandProcessorImpl processor) {
    if (processor.getCommands().contains(SCOPE + ":echo")) {
      return;
    }
    Posix files = new Posix(processor);
    FILES.forEach(name -> processor.addCommand(SCOPE, files, name));
    Procedural flow = new Procedural();
    FLOW.forEach(name -> processor.addCommand(SCOPE, flow, name));
  }
}
