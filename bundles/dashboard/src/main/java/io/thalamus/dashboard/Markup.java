// SPDX-License-Identifier: Apache-2.0
package io.thalamus.dashboard;

import java.util.Locale;

/** A text of HTML or SVG. Texts of others are escaped. */
final class Markup {
  private final StringBuilder text = new StringBuilder(1024);

  /** Adds markup, with values in the places of {@code %s} escaped, of {@code %f} rounded. */
  Markup add(String format, Object... values) {
    Object[] safe = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      safe[i] = values[i] instanceof String each ? escape(each) : values[i];
    }
    text.append(String.format(Locale.ROOT, format, safe));
    return this;
  }

  /** Adds markup that was made here. */
  Markup add(Markup other) {
    text.append(other.text);
    return this;
  }

  static String escape(String value) {
    StringBuilder safe = new StringBuilder(value.length() + 16);
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      switch (c) {
        case '<' -> safe.append("&lt;");
        case '>' -> safe.append("&gt;");
        case '&' -> safe.append("&amp;");
        case '"' -> safe.append("&quot;");
        case '\'' -> safe.append("&#39;");
        default -> safe.append(Character.isISOControl(c) ? ' ' : c);
      }
    }
    return safe.toString();
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
