// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console.settings;

import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;

/**
 * A setting that a bundle declares. Immutable.
 *
 * @param pid the configuration that it belongs to
 * @param id its name in that
 * @param type as Metatype names it
 * @param isList whether it takes several values
 * @param usual its value if nobody sets it; may be empty
 * @param meaning for people; may be empty
 * @param least the least value of a number, if there is one
 * @param most the largest value of a number, if there is one
 * @param choices the values that it takes; empty if there are too many to list
 */
public record Setting(
    String pid,
    String id,
    String type,
    boolean isList,
    String usual,
    String meaning,
    Optional<BigDecimal> least,
    Optional<BigDecimal> most,
    List<String> choices) {
  private static final String PREFIX = "io.thalamus.";

  public Setting {
    choices = List.copyOf(choices);
  }

  /** Returns the name by which people set it: {@code simd.threads}. */
  public String name() {
    return shortened(pid) + "." + id;
  }

  /** Returns a setting of which nothing is known but the name by which people set it. */
  public static Setting unknown(String name) {
    int dot = name.lastIndexOf('.');
    String part = name.substring(0, dot);
    return new Setting(
        part.startsWith(PREFIX) ? part : PREFIX + part,
        name.substring(dot + 1),
        "String",
        true,
        "",
        "",
        Optional.empty(),
        Optional.empty(),
        List.of());
  }

  private static String shortened(String pid) {
    return pid.startsWith(PREFIX) ? pid.substring(PREFIX.length()) : pid;
  }

  /** Returns whether its value is nothing to be shown. */
  public boolean isSecret() {
    return type.equals("Password");
  }

  /** Returns what is wrong with a value; empty where it is taken. */
  public Optional<String> fault(String value) {
    return takes(value)
        ? Optional.empty()
        : Optional.of(id + " is of type " + text() + ", which '" + value + "' is not");
  }

  private boolean takes(String value) {
    if (!choices.isEmpty()) {
      return choices.contains(value);
    }
    return switch (type) {
      case "Integer" -> value.matches("-?[0-9]{1,19}") && isWithin(value, Integer.SIZE);
      case "Long" -> value.matches("-?[0-9]{1,19}") && isWithin(value, Long.SIZE);
      case "Double" ->
          value.matches("-?[0-9]{1,19}(\\.[0-9]{1,19})?([eE]-?[0-9]{1,2})?")
              && isWithin(new BigDecimal(value));
      case "Boolean" -> value.equals("true") || value.equals("false");
      default -> true;
    };
  }

  private boolean isWithin(String whole, int bits) {
    BigDecimal number = new BigDecimal(whole);
    return number.toBigInteger().bitLength() < bits && isWithin(number);
  }

  private boolean isWithin(BigDecimal number) {
    return (least.isEmpty() || number.compareTo(least.get()) >= 0)
        && (most.isEmpty() || number.compareTo(most.get()) <= 0);
  }

  private String text() {
    String range =
        least.isPresent() && most.isPresent()
            ? " from " + plain(least) + " to " + plain(most)
            : least.isPresent() ? " of at least " + plain(least) : "";
    return type + range + (choices.isEmpty() ? "" : " out of " + String.join(", ", choices));
  }

  private static String plain(Optional<BigDecimal> number) {
    return number.map(BigDecimal::toPlainString).orElse("");
  }
}
