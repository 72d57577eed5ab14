// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.session;

import io.thalamus.console.CommandException;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.felix.service.command.CommandSession;

/** The answer to a word that is no command: one line that names those it could be. Stateless. */
public final class UnknownCommand {
  private static final String SCOPE = "nn:";

  private UnknownCommand() {}

  /** Returns the failure of a session for a name that is no command there. */
  public static CommandException of(CommandSession session, String name) {
    List<String> near = near(session, name);
    return CommandException.usage(
        "no command "
            + name
            + (near.isEmpty()
                ? "; help lists all, ./thalamus --help those of Thalamus"
                : "; did you mean " + String.join(" or ", near) + "?"));
  }

  /** Returns the commands that a session knows, with their scopes. */
  public static Set<String> commands(CommandSession session) {
    Set<String> names = new TreeSet<>();
    if (session.get(".commands") instanceof Iterable<?> all) {
      all.forEach(name -> names.add(String.valueOf(name)));
    }
    return names;
  }

  private static List<String> near(CommandSession session, String wanted) {
    String name = wanted.substring(wanted.indexOf(':') + 1);
    String scope = wanted.startsWith(SCOPE) ? SCOPE : "";
    return commands(session).stream()
        .filter(known -> known.startsWith(SCOPE))
        .map(known -> known.substring(SCOPE.length()))
        .filter(known -> known.startsWith(name) || isTypingErrorOf(known, name))
        .map(known -> scope + known)
        .toList();
  }

  /** Returns true for two errors in a word, one in a short word, and letters in another order. */
  private static boolean isTypingErrorOf(String known, String name) {
    return distance(known, name) <= Math.min(2, name.length() / 2)
        || Arrays.equals(known.chars().sorted().toArray(), name.chars().sorted().toArray());
  }

  /** Returns Levenshtein's distance, by rows. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j < row.length; j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j < row.length; j++) {
        int replace = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replace, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }
}
