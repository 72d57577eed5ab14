// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The outcome of the run of one example. A value. */
public sealed interface Outcome {
  /** Everything was as expected. */
  Outcome PASSED = new Passed();

  /** Returns the outcome of a check that found a fault, or none. */
  static Outcome of(Optional<String> fault) {
    return fault.<Outcome>map(Failed::new).orElse(PASSED);
  }

  /** Returns the reason behind a colon, as it follows a name; nothing where it passed. */
  static String suffix(Outcome outcome) {
    return switch (outcome) {
      case Passed _ -> "";
      case Failed failed -> ": " + failed.reason();
      case Skipped skipped -> ": " + skipped.reason();
    };
  }

  /** Returns how often each reason led to a skip. */
  static Map<String, Integer> skipReasons(Stream<Outcome> outcomes) {
    Map<String, Integer> reasons = new TreeMap<>();
    outcomes.forEach(
        outcome -> {
          if (outcome instanceof Skipped skipped) {
            reasons.merge(skipped.reason(), 1, Integer::sum);
          }
        });
    return reasons;
  }

  /** Everything was as expected. */
  record Passed() implements Outcome {}

  /**
   * Something was not as expected.
   *
   * @param reason in one line: where it matters with operation, element, expected and actual
   */
  record Failed(String reason) implements Outcome {
    public Failed {
      Objects.requireNonNull(reason, "reason");
    }

    private static final int MOST_CAUSES = 8;

    /**
     * Returns the failure of whatever threw, in one line: what was thrown, its first cause and the
     * place, which is the first one outside the JDK.
     */
    public static Failed of(Throwable thrown) {
      Throwable cause = thrown;
      // Bounded, as causes may form a circle.
      for (int i = 0; i < MOST_CAUSES && cause.getCause() != null; i++) {
        cause = cause.getCause();
      }
      String text = "threw " + thrown;
      if (!text.contains(cause.toString())) {
        text += ", caused by " + cause;
      }
      StackTraceElement[] trace = cause.getStackTrace();
      String place =
          Arrays.stream(trace)
              .filter(frame -> !frame.getClassName().startsWith("java."))
              .findFirst()
              .or(() -> Arrays.stream(trace).findFirst())
              .map(frame -> " at " + frame)
              .orElse("");
      return new Failed(text.replaceAll("\\s*\\R\\s*", " ") + place);
    }
  }

  /**
   * The example does not apply here.
   *
   * @param reason why, in one line
   */
  record Skipped(String reason) implements Outcome {
    public Skipped {
      Objects.requireNonNull(reason, "reason");
    }
  }
}
