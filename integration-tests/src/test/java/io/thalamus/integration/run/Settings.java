// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The {@code --name value} options of one run. Not thread-safe. */
final class Settings {
  private final Map<String, String> left = new TreeMap<>();

  /** An option that the proof does not have, or has no value for. */
  static final class UnknownOptionException extends Exception {
    private static final long serialVersionUID = 1L;

    UnknownOptionException(String message) {
      super(message);
    }
  }

  Settings(List<String> words) throws UnknownOptionException {
    for (int i = 0; i < words.size(); i += 2) {
      if (!words.get(i).startsWith("--") || i + 1 == words.size()) {
        throw new UnknownOptionException("expected --name value, found " + words.get(i));
      }
      left.put(words.get(i).substring(2), words.get(i + 1));
    }
  }

  String text(String name, String otherwise) {
    String value = left.remove(name);
    return value == null ? otherwise : value;
  }

  long number(String name, long otherwise) throws UnknownOptionException {
    String value = text(name, Long.toString(otherwise));
    try {
      return Long.parseLong(value);
    } catch (NumberFormatException e) {
      throw new UnknownOptionException("--" + name + " wants a number, not " + value);
    }
  }

  /** To be called once every option was asked for. */
  void end() throws UnknownOptionException {
    if (!left.isEmpty()) {
      throw new UnknownOptionException("no option --" + left.keySet().iterator().next());
    }
  }
}
