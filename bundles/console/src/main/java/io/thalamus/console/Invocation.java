// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import io.thalamus.console.text.Style;
import java.io.Console;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Process;

/**
 * One call of a command: its arguments, the reader of its output, and the place of its files. Used
 * by the thread that runs the command, for that call only.
 *
 * <p>Session variables: {@code nn.json} (true for JSON always), {@code nn.color} (true, false, or
 * anything else for what the terminal can do), {@code COLUMNS}. The environment's {@code NO_COLOR},
 * {@code TERM} and {@code COLUMNS} count where the session says nothing.
 */
public final class Invocation {
  private static final int USUAL_WIDTH = 100;
  private static final String FILE = "file:";

  private final Syntax syntax;
  private final Arguments arguments;
  private final CommandSession session;
  private final Process process;

  private Invocation(Syntax syntax, Arguments arguments, CommandSession session, Process process) {
    this.syntax = syntax;
    this.arguments = arguments;
    this.session = session;
    this.process = process;
  }

  static Invocation of(Syntax syntax, CommandSession session, Arguments arguments) {
    return new Invocation(syntax, arguments, session, Process.Utils.current());
  }

  /** Returns the arguments, which fit the command's syntax. */
  public Arguments arguments() {
    return arguments;
  }

  /** Returns the first word beside the options. */
  public String operand() {
    return arguments.operands().getFirst();
  }

  /** Returns how the command's result is to look. */
  public Style style() {
    boolean json = arguments.has("json") || isTrue(session.get("nn.json"));
    return new Style(json, !json && colour(), width(), isReadByPeople());
  }

  /** Returns true if the log is printed at once while the command runs. */
  public boolean isReportedAtOnce() {
    return session.get("nn.notices") != null;
  }

  /**
   * Returns a failure that says what is wrong with the arguments and how the command is written.
   */
  public CommandException usage(String problem) {
    return syntax.usage(problem);
  }

  /**
   * Prints a result that belongs on standard output although the command fails, and returns the
   * failure.
   */
  public CommandException failure(Result result, String message) {
    out().println(result.show());
    out().flush();
    return new CommandException(message);
  }

  /** Returns a line of progress on standard error, for the caller to close. */
  public Progress progress() {
    return new Progress(err(), (process == null || process.isTty(2)) && isTerminal(2), width());
  }

  /**
   * Returns the file that a word means, seen from the session's directory; {@code ~} is the user's
   * home, as in other shells.
   *
   * @throws CommandException where the word cannot be a file name
   */
  public Path path(String word) {
    if (word.isEmpty()) {
      // Usually a variable of a script that is not set; it would mean the current directory.
      throw new CommandException("the name of a file or folder is empty");
    }
    try {
      Path path = word.startsWith(FILE) ? address(word) : Path.of(atHome(word));
      Path directory = session.currentDir();
      return directory == null ? path : directory.resolve(path);
    } catch (IllegalArgumentException e) {
      throw new CommandException("not a file name: " + e.getMessage(), e);
    }
  }

  private static String atHome(String word) {
    return word.equals("~") || word.startsWith("~/")
        ? System.getProperty("user.home") + word.substring(1)
        : word;
  }

  /** Reads an address as Felix's own install takes it. */
  private static Path address(String word) {
    return word.startsWith(FILE + "/")
        ? Path.of(URI.create(word))
        : Path.of(word.substring(FILE.length()));
  }

  /** Returns where results go. */
  public PrintStream out() {
    return process != null && process.out() != null ? process.out() : session.getConsole();
  }

  /** Returns where progress and remarks go. */
  public PrintStream err() {
    return process != null && process.err() != null ? process.err() : System.err;
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

  /** Returns false for a pipe or file, unless somebody has said how wide that is. */
  private boolean isReadByPeople() {
    return (process == null || process.isTty(1)) && (isTerminal(1) || givenWidth() > 0);
  }

  private int width() {
    int given = givenWidth();
    return given > 0 ? given : USUAL_WIDTH;
  }

  /** Returns the width that session or environment state, or 0. */
  private int givenWidth() {
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
    return 0;
  }

  /** The JDK only knows of input and output together; Linux knows each. */
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
