// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import java.util.Arrays;
import java.util.List;

/**
 * The words that Tab offers at one place of a command line. Immutable.
 *
 * @param kinds words that are only known at that moment
 * @param words the same words every time
 */
public record Candidates(List<Kind> kinds, List<String> words) {
  /** No word. */
  public static final Candidates NONE = new Candidates(List.of(), List.of());

  /** Words that are only known at the moment. */
  public enum Kind {
    /** Files that the word on the line may go on to. */
    FILES,
    /** The names of loaded models. */
    MODELS,
    /** The short names of devices. */
    DEVICES,
    /** The short names of devices that could be installed. */
    INSTALLABLE,
    /** The names of partition policies. */
    POLICIES,
    /** The names of settings. */
    SETTINGS,
    /** The commands of Thalamus, without their scope. */
    COMMANDS
  }

  public Candidates {
    kinds = List.copyOf(kinds);
    words = List.copyOf(words);
  }

  /** Returns candidates of these kinds, in this order. */
  public static Candidates of(Kind... kinds) {
    return new Candidates(List.of(kinds), List.of());
  }

  /** Returns these words. */
  public static Candidates words(String... words) {
    return new Candidates(List.of(), List.of(words));
  }

  /** Returns the constants of an enum as {@link Arguments#choice} reads them. */
  static Candidates constants(Class<? extends Enum<?>> type) {
    return words(
        Arrays.stream(type.getEnumConstants()).map(Arguments::word).toArray(String[]::new));
  }
}
