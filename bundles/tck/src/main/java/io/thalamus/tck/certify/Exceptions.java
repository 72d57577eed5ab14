// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.vectors.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * Checks that a device need not pass, each with the reason: those that it <em>never</em> will, and
 * those that it does <em>not yet</em>. A check on the second list that passes fails the run, so
 * that the list stays true. Immutable.
 *
 * @param never reason by {@link Finding#id}
 * @param notYet reason by {@link Finding#id}
 */
public record Exceptions(Map<String, String> never, Map<String, String> notYet) {
  /** No exceptions. */
  public static final Exceptions NONE = new Exceptions(Map.of(), Map.of());

  private static final String NEVER = "never ";
  private static final String NOT_YET = "not yet ";

  public Exceptions {
    never = Map.copyOf(never);
    notYet = Map.copyOf(notYet);
    for (String id : never.keySet()) {
      if (notYet.containsKey(id)) {
        throw new IllegalArgumentException(id + " stands on both lists of exceptions");
      }
    }
  }

  /** These and one that the device will never pass. */
  public Exceptions andNever(String id, String reason) {
    return new Exceptions(with(never, id, reason), notYet);
  }

  /** These and one that the device does not pass yet. */
  public Exceptions andNotYet(String id, String reason) {
    return new Exceptions(never, with(notYet, id, reason));
  }

  private static Map<String, String> with(Map<String, String> list, String id, String reason) {
    Map<String, String> more = new TreeMap<>(list);
    more.put(id, reason);
    return more;
  }

  /**
   * Reads lines of the form {@code never GROUP/NAME: REASON} or {@code not yet GROUP/NAME: REASON};
   * empty lines, and those that begin with {@code #}, say nothing.
   *
   * @throws IOException where the file cannot be read, or a line is neither
   */
  public static Exceptions read(Path file) throws IOException {
    Exceptions exceptions = NONE;
    for (String line : Files.readAllLines(file)) {
      String text = line.strip();
      int colon = text.indexOf(": ");
      if (text.isEmpty() || text.startsWith("#")) {
        continue;
      }
      if (colon > 0 && text.startsWith(NEVER)) {
        exceptions =
            exceptions.andNever(
                text.substring(NEVER.length(), colon).strip(), text.substring(colon + 2).strip());
      } else if (colon > 0 && text.startsWith(NOT_YET)) {
        exceptions =
            exceptions.andNotYet(
                text.substring(NOT_YET.length(), colon).strip(), text.substring(colon + 2).strip());
      } else {
        throw new IOException(
            file + ": not 'never GROUP/NAME: REASON' or 'not yet GROUP/NAME: REASON': " + text);
      }
    }
    return exceptions;
  }

  /** The finding as it counts. */
  Finding apply(Finding finding) {
    boolean failed = finding.outcome() instanceof Outcome.Failed;
    String id = finding.id();
    if (failed && never.containsKey(id)) {
      return with(finding, new Outcome.Skipped("never: " + never.get(id)));
    }
    if (failed && notYet.containsKey(id)) {
      return with(finding, new Outcome.Skipped("not yet: " + notYet.get(id)));
    }
    if (finding.outcome() instanceof Outcome.Passed && notYet.containsKey(id)) {
      return with(
          finding, new Outcome.Failed("passes now: take it off the list of what does not yet"));
    }
    return finding;
  }

  private static Finding with(Finding finding, Outcome outcome) {
    return new Finding(finding.group(), finding.name(), outcome);
  }
}
