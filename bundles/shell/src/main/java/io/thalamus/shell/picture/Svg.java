// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.picture;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Stream;

/** Writes SVG elements. Not thread-safe. */
final class Svg {
  private final StringBuilder text = new StringBuilder();

  /** Adds an element without content; attributes are pairs of name and value. */
  Svg empty(String element, Object... attributes) {
    open(element, attributes);
    text.setLength(text.length() - 2);
    text.append("/>\n");
    return this;
  }

  /** Begins an element. */
  Svg open(String element, Object... attributes) {
    text.append('<').append(element);
    for (int i = 0; i < attributes.length; i += 2) {
      text.append(' ').append(attributes[i]).append("=\"");
      text.append(escape(value(attributes[i + 1]))).append('"');
    }
    text.append(">\n");
    return this;
  }

  /** Begins a white picture of so many pixels, which {@code close("svg")} ends. */
  void openPage(String title, double width, double height) {
    open(
        "svg",
        "xmlns",
        "http://www.w3.org/2000/svg",
        "width",
        width,
        "height",
        height,
        "viewBox",
        "0 0 " + number(width) + " " + number(height),
        "font-family",
        "Inter, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif");
    text("title", title);
    empty("rect", "width", width, "height", height, "fill", "#ffffff");
  }

  /** Ends an element. */
  Svg close(String element) {
    text.append("</").append(element).append(">\n");
    return this;
  }

  /** Adds an element that holds text only. */
  Svg text(String element, String content, Object... attributes) {
    open(element, attributes);
    text.setLength(text.length() - 1);
    text.append(escape(content)).append("</").append(element).append(">\n");
    return this;
  }

  /** Adds words. */
  Svg words(String content, double x, double y, double size, String colour, Object... more) {
    Object[] attributes = {"x", x, "y", y, "font-size", size, "fill", colour};
    return text("text", content, joined(attributes, more));
  }

  /** Adds a line. */
  void line(double x1, double y1, double x2, double y2, String colour, Object... more) {
    Object[] attributes = {"x1", x1, "y1", y1, "x2", x2, "y2", y2, "stroke", colour};
    empty("line", joined(attributes, more));
  }

  /** Adds a rectangle, of which the radius rounds the corners. */
  void rect(
      double x,
      double y,
      double width,
      double height,
      double radius,
      Palette.Tone tone,
      Object... more) {
    Object[] place = {"x", x, "y", y, "width", width, "height", height, "rx", radius};
    Object[] colours = {"fill", tone.fill(), "stroke", tone.stroke()};
    empty("rect", joined(joined(place, colours), more));
  }

  private static Object[] joined(Object[] first, Object[] second) {
    return Stream.concat(Arrays.stream(first), Arrays.stream(second)).toArray();
  }

  /** A number with one decimal at most. */
  static String number(double value) {
    String text = String.format(Locale.ROOT, "%.1f", value);
    return text.endsWith(".0") ? text.substring(0, text.length() - 2) : text;
  }

  private static String value(Object value) {
    return value instanceof Double number ? number(number) : String.valueOf(value);
  }

  /** XML knows neither control characters nor lone surrogates. */
  static String escape(String content) {
    StringBuilder escaped = new StringBuilder();
    content
        .codePoints()
        .forEach(
            c -> {
              switch (c) {
                case '&' -> escaped.append("&amp;");
                case '<' -> escaped.append("&lt;");
                case '>' -> escaped.append("&gt;");
                case '"' -> escaped.append("&quot;");
                default -> {
                  boolean legal = c >= ' ' && (c < 0xD800 || c > 0xDFFF) && c < 0xFFFE;
                  escaped.appendCodePoint(legal || c > 0xFFFF ? c : '?');
                }
              }
            });
    return escaped.toString();
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
