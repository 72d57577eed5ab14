// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.apache.commons.cli.CommandLine;

/** A command line that fits its {@link Syntax}. Immutable. */
public final class Arguments {
  private final Syntax syntax;
  private final CommandLine line;

  Arguments(Syntax syntax, CommandLine line) {
    this.syntax = syntax;
    this.line = line;
  }

  /** Returns whether an option is given. */
  public boolean has(String name) {
    return line.hasOption(name);
  }

  /** Returns the words beside the options. */
  public List<String> operands() {
    return line.getArgList();
  }

  /** Returns the value of an option. */
  public Optional<String> text(String name) {
    return Optional.ofNullable(line.getOptionValue(name));
  }

  /** Returns the values of an option that may be repeated. */
  public List<String> texts(String name) {
    String[] values = line.getOptionValues(name);
    return values == null ? List.of() : List.of(values);
  }

  /** Returns the words of an option that are separated by commas, each once. */
  public Optional<List<String>> list(String name) {
    return text(name).map(text -> Arrays.stream(text.split(",")).distinct().toList());
  }

  /**
   * Returns a whole number.
   *
   * @throws CommandException where it is none, or less than {@code least}
   */
  public OptionalInt integer(String name, int least) {
    OptionalLong value = integer(name, least, Integer.MAX_VALUE);
    return value.isPresent() ? OptionalInt.of((int) value.getAsLong()) : OptionalInt.empty();
  }

  /**
   * Returns a whole number.
   *
   * @throws CommandException where it is none, or not from {@code least} to {@code most}
   */
  public OptionalLong integer(String name, long least, long most) {
    String text = line.getOptionValue(name);
    if (text == null) {
      return OptionalLong.empty();
    }
    try {
      BigInteger value = new BigInteger(text);
      if (value.compareTo(BigInteger.valueOf(most)) > 0) {
        throw syntax.usage("--%s %s is more than %d".formatted(name, text, most));
      }
      if (value.compareTo(BigInteger.valueOf(least)) >= 0) {
        return OptionalLong.of(value.longValue());
      }
    } catch (NumberFormatException notANumber) {
      // said below, as for a number that is too small
    }
    throw syntax.usage(
        "--%s %s is not a whole number%s"
            .formatted(name, text, least == Long.MIN_VALUE ? "" : " from " + least + " on"));
  }

  /**
   * Returns a positive number.
   *
   * @throws CommandException where it is none, or not positive
   */
  public OptionalDouble positive(String name) {
    String text = line.getOptionValue(name);
    if (text == null) {
      return OptionalDouble.empty();
    }
    try {
      double value = Double.parseDouble(text);
      if (value > 0 && Double.isFinite(value)) {
        return OptionalDouble.of(value);
      }
    } catch (NumberFormatException notANumber) {
      // said below, as for a number that is not positive
    }
    throw syntax.usage("--" + name + " " + text + " is not a number above 0");
  }

  /**
   * Returns one number, or several separated by commas.
   *
   * @throws CommandException where one is none
   */
  public Optional<float[]> numbers(String name) {
    String text = line.getOptionValue(name);
    if (text == null) {
      return Optional.empty();
    }
    String[] parts = text.split(",", -1);
    float[] values = new float[parts.length];
    for (int i = 0; i < parts.length; i++) {
      try {
        values[i] = Float.parseFloat(parts[i].strip());
      } catch (NumberFormatException e) {
        values[i] = Float.NaN;
      }
      if (!Float.isFinite(values[i])) {
        throw syntax.usage("--" + name + " " + text + " is not a number (or one for each channel)");
      }
    }
    return Optional.of(values);
  }

  /**
   * Returns one of an enum's constants; case does not count, and dashes stand for underscores.
   *
   * @throws CommandException where there is no such constant
   */
  public <E extends Enum<E>> Optional<E> choice(String name, Class<E> type) {
    String text = line.getOptionValue(name);
    if (text == null) {
      return Optional.empty();
    }
    String wanted = text.toUpperCase(Locale.ROOT).replace('-', '_');
    for (E constant : type.getEnumConstants()) {
      if (constant.name().equals(wanted)) {
        return Optional.of(constant);
      }
    }
    String known =
        Arrays.stream(type.getEnumConstants())
            .map(Arguments::word)
            .collect(Collectors.joining(", "));
    throw syntax.usage("--" + name + " " + text + " is none of " + known);
  }

  /** Returns an enum's constant as users write it. */
  static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
