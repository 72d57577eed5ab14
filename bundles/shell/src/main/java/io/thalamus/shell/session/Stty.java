// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jline.terminal.Attributes;
import org.jline.terminal.Size;
import org.jline.terminal.impl.ExecPty;

/**
 * The process's own terminal, set by the command {@code stty} as JLine does, but so that Ctrl-C
 * neither kills that command nor keeps the thread from waiting for it. Thread-safe.
 */
final class Stty extends ExecPty {
  private static final String DEAF = "trap '' INT QUIT TSTP; exec stty \"$@\"";

  /** The least exit status of a process that a signal has ended. */
  private static final int KILLED = 128;

  private static final int ATTEMPTS = 20;

  Stty(String name) {
    super(name, true);
  }

  @Override
  protected String doGetConfig() throws IOException {
    return stty(List.of("-a"));
  }

  @Override
  protected void doSetAttr(Attributes wanted) throws IOException {
    List<String> flags = getFlagsToSet(wanted, getAttr());
    if (!flags.isEmpty()) {
      stty(flags);
    }
  }

  /** Returns the usual size where the terminal knows none. */
  @Override
  public Size getSize() throws IOException {
    Size size = super.getSize();
    return size.getColumns() > 0 && size.getRows() > 0 ? size : new Size(80, 24);
  }

  /** Runs the command again where Ctrl-C came before it was deaf to it. */
  private static String stty(List<String> words) throws IOException {
    List<String> command = new ArrayList<>(List.of("sh", "-c", DEAF, "stty"));
    command.addAll(words);
    for (int attempt = 1; ; attempt++) {
      try {
        Process process =
            new ProcessBuilder(command)
                .redirectInput(ProcessBuilder.Redirect.INHERIT)
                .redirectErrorStream(true)
                .start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        // A terminal that takes some of the flags only says so, and is used as it is.
        if (process.onExit().join().exitValue() < KILLED || attempt == ATTEMPTS) {
          return said;
        }
      } catch (IOException killedBeforeItsBegin) {
        if (attempt == ATTEMPTS) {
          throw killedBeforeItsBegin;
        }
      }
    }
  }
}
