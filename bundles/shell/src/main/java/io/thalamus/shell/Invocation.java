// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.format.Style;
import java.io.Console;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Process;

/**
 * The surroundings of one call of a command: who reads its output, and where its files are. Used by
 * the thread that runs the command.
 *
 * <p>Session variables: {@code nn.json} (true for JSON always), {@code nn.color} (true, false, or
 * anything else for what the terminal can do), {@code COLUMNS}. The environment's {@code NO_COLOR},
 * {@code TERM} and {@code COLUMNS} count where the session says nothing.
 */
final class Invocation {
  private static final int USUAL_WIDTH = 100;
  private static final String FILE = "file:";

  private final CommandSession session;
  private final Process process;

  private Invocation(CommandSession session, Process process) {
    this.session = session;
    this.process = process;
  }

  static Invocation of(CommandSession session) {
    return new Invocation(session, Process.Utils.current());
  }

  /** How the command's result is to look. */
  Style style(Arguments arguments) {
    boolean json = arguments.has("json") || isTrue(session.get("nn.json"));
    return new Style(json, !json && colour(), width());
  }

  /** The file that a word means, seen from the session's directory. */
  Path path(String word) throws CommandException {
    try {
      Path path = word.startsWith(FILE) ? address(word) : Path.of(word);
      Path directory = session.currentDir();
      return directory == null ? path : directory.resolve(path);
    } catch (IllegalArgumentException e) {
      throw new CommandException("not a file name: " + e.getMessage(), e);
    }
  }

  /** Felix's own install takes such addresses. */
  private static Path address(String word) {
    return word.startsWith(FILE + "/")
        ? Path.of(URI.create(word))
        : Path.of(word.substring(FILE.length()));
  }

  /** Where results go. */
  PrintStream out() {
    return process != null && process.out() != null ? process.out() : session.getConsole();
  }

  /** Where progress and remarks go. */
  PrintStream err() {
    return process != null && process.err() != null ? process.err() : System.err;
  }

  /** Whether a person watches {@link #err()}, so that a line may be overwritten. */
  boolean errIsTerminal() {
    return (process == null || process.isTty(2)) && isTerminal(2);
  }

  CommandSession session() {
    return session;
  }

  private boolean colour() {
    Object wanted = session.get("nn.color");
    if (isTrue(wanted)) {
      return true;
    }
    if (wanted != null && "false".equalsIgnoreCase(wanted.toString())) {
      return false;
    }
    String noColour = System.getenv("NO_COLOR");
    return (noColour == null || noColour.isEmpty())
        && !"dumb".equals(System.getenv("TERM"))
        && (process == null || process.isTty(1))
        && isTerminal(1);
  }

  private int width() {
    for (Object columns : new Object[] {session.get("COLUMNS"), System.getenv("COLUMNS")}) {
      try {
        int width = columns == null ? 0 : Integer.parseInt(columns.toString());
        if (width > 0) {
          return width;
        }
      } catch (NumberFormatException notANumber) {
        // somebody's variable of another meaning: look further
      }
    }
    return USUAL_WIDTH;
  }

  /** The JDK only tells of input and output together; Linux tells of each. */
  private static boolean isTerminal(int descriptor) {
    Console console = System.console();
    if (descriptor == 1 && console != null && console.isTerminal()) {
      return true;
    }
    // The launcher may have standard error elsewhere, and says where.
    String moved = descriptor == 2 ? System.getProperty("thalamus.errors") : null;
    String file = moved != null ? moved : "/proc/self/fd/" + descriptor;
    try {
      String target = Files.readSymbolicLink(Path.of(file)).toString();
      return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty");
    } catch (IOException | UnsupportedOperationException elsewhere) {
      return false;
    }
  }

  private static boolean isTrue(Object value) {
    return value != null && "true".equalsIgnoreCase(value.toString());
  }
}
