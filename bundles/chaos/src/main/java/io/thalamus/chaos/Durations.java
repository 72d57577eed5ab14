// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as people write them: {@code 20ms}, {@code 2s}, {@code 50us}. Stateless. */
final class Durations {
  private static final Pattern TEXT = Pattern.compile("(\\d{1,9})(us|ms|s)");

  private Durations() {}

  static Optional<Duration> parse(String text) {
    Matcher matcher = TEXT.matcher(text);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    long number = Long.parseLong(matcher.group(1));
    return Optional.of(
        switch (matcher.group(2)) {
          case "us" -> Duration.ofNanos(number * 1000);
          case "ms" -> Duration.ofMillis(number);
          default -> Duration.ofSeconds(number);
        });
  }

  static String text(Duration duration) {
    if (duration.getNano() == 0) {
      return duration.toSeconds() + "s";
    }
    return duration.getNano() % 1_000_000 == 0
        ? duration.toMillis() + "ms"
        : duration.toNanos() / 1000 + "us";
  }

  static void requirePositive(Duration duration) {
    if (duration.compareTo(Duration.ofNanos(1000)) < 0) {
      throw new IllegalArgumentException(
          "a time of " + duration + " is too short: give 1us or more");
    }
  }
}
