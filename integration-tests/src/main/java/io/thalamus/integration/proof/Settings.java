// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The {@code --name value} options of one run. Not thread-safe. */
public final class Settings {
  private final Map<String, String> left = new TreeMap<>();

  /** An option that the proof does not have, or has no value for. */
  public static final class UnknownOptionException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Says what is wrong. */
    public UnknownOptionException(String message) {
      super(message);
    }
  }

  /**
   * Reads the words of a command line.
   *
   * @throws UnknownOptionException where they are not pairs of a name and a value
   */
  public Settings(List<String> words) throws UnknownOptionException {
    for (int i = 0; i < words.size(); i += 2) {
      if (!words.get(i).startsWith("--") || i + 1 == words.size()) {
        throw new UnknownOptionException("expected --name value, found " + words.get(i));
      }
      left.put(words.get(i).substring(2), words.get(i + 1));
    }
  }

  /** The value of an option, or {@code otherwise}. */
  public String text(String name, String otherwise) {
    String value = left.remove(name);
    return value == null ? otherwise : value;
  }

  /**
   * The value of an option that is a whole number, or {@code otherwise}.
   *
   * @throws UnknownOptionException where it is none
   */
  public long number(String name, long otherwise) throws UnknownOptionException {
    String value = text(name, Long.toString(otherwise));
    try {
      return Long.parseLong(value);
    } catch (NumberFormatException e) {
      throw new UnknownOptionException("--" + name + " wants a number, not " + value);
    }
  }

  /** All that was not asked for yet, as words of a command line. */
  public List<String> rest() {
    List<String> words = new ArrayList<>();
    left.forEach((name, value) -> words.addAll(List.of("--" + name, value)));
    left.clear();
    return words;
  }

  /**
   * To be called once every option was asked for.
   *
   * @throws UnknownOptionException where one is left
   */
  public void end() throws UnknownOptionException {
    if (!left.isEmpty()) {
      throw new UnknownOptionException("no option --" + left.keySet().iterator().next());
    }
  }
}
