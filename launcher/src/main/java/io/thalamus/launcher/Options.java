// SPDX-License-Identifier: Apache-2.0
package io.thalamus.launcher;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The command line, taken apart: options of the container first, then one command with whatever
 * belongs to it, which is left as it is. Immutable.
 *
 * @param mode what to do
 * @param words the command and its arguments, or a script's arguments
 * @param text the commands of {@code -c}, the file of {@code -f}, or the jar of {@code --isolated},
 *     which starts nothing but the device of that bundle for another container
 * @param storage the directory that the user owns, if one was named
 * @param devices the device bundles to start by short name, if any were named
 * @param json whether results are wanted as JSON
 * @param timing whether to say on standard error where the time went
 */
record Options(
    Mode mode,
    List<String> words,
    String text,
    Optional<Path> storage,
    Optional<Set<String>> devices,
    boolean json,
    boolean timing) {

  /** The purposes of a container. */
  enum Mode {
    SHELL,
    COMMAND,
    TEXT,
    FILE,
    ISOLATED,
    HELP,
    VERSION
  }

  /** The word that starts a server. */
  private static final Set<String> SERVE = Set.of("serve", "nn:serve");

  /** Returns whether the container is one that serves until its process is asked to end. */
  boolean isServer() {
    return mode == Mode.COMMAND && SERVE.contains(words.getFirst());
  }

  /** Returns the start level up to which bundles are started for this. */
  int level() {
    if (isServer()) {
      return Distribution.SERVER_LEVEL;
    }
    return Distribution.INTERACTIVE_LEVEL - (mode == Mode.SHELL ? 0 : 1);
  }

  /** A command line that says nothing the container can do. */
  static final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
      super(message);
    }
  }

  static Options parse(List<String> arguments, boolean timingWanted) throws UsageException {
    Deque<String> rest = new ArrayDeque<>(arguments);
    Mode mode = null;
    String text = "";
    Optional<Path> storage = Optional.empty();
    Optional<Set<String>> devices = Optional.empty();
    boolean json = false;
    boolean timing = timingWanted;
    while (!rest.isEmpty() && rest.peek().startsWith("-")) {
      String option = rest.pop();
      switch (option) {
        case "--storage" -> storage = Optional.of(Path.of(value(option, "DIR", rest)));
        case "--with" -> devices = Optional.of(names(value(option, "cpu,simd,...", rest)));
        case "--json" -> json = true;
        case "--timing" -> timing = true;
        case "--help", "-h" -> mode = first(mode, Mode.HELP, option);
        case "--version" -> mode = first(mode, Mode.VERSION, option);
        case "--isolated" -> {
          mode = first(mode, Mode.ISOLATED, option);
          text = value(option, "JAR", rest);
        }
        case "-c" -> {
          mode = first(mode, Mode.TEXT, option);
          text = value(option, "'COMMANDS'", rest);
        }
        case "-f" -> {
          mode = first(mode, Mode.FILE, option);
          text = value(option, "FILE", rest);
        }
        default -> throw new UsageException("unknown option " + option + "; see ./thalamus --help");
      }
    }
    if (mode == null) {
      mode = rest.isEmpty() ? Mode.SHELL : Mode.COMMAND;
    }
    return new Options(mode, new ArrayList<>(rest), text, storage, devices, json, timing);
  }

  private static Mode first(Mode before, Mode mode, String option) throws UsageException {
    if (before != null) {
      throw new UsageException("only one of -c, -f, --help and --version can be given: " + option);
    }
    return mode;
  }

  private static String value(String option, String what, Deque<String> rest)
      throws UsageException {
    if (rest.isEmpty() || rest.peek().isEmpty()) {
      throw new UsageException(option + " wants a value: " + option + " " + what);
    }
    return rest.pop();
  }

  private static Set<String> names(String list) {
    Set<String> names = new TreeSet<>();
    for (String name : list.split(",")) {
      if (!name.isBlank()) {
        names.add(name.strip());
      }
    }
    return names;
  }
}
