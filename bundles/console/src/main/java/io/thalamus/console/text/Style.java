// SPDX-License-Identifier: Apache-2.0
package io.thalamus.console.text;

/**
 * The reader of a result. Immutable.
 *
 * @param json whether it is wanted as one JSON object on one line
 * @param colour whether the reader understands ANSI colours
 * @param width columns that a line may take
 * @param wraps whether cells of tables that are longer are wrapped: not for programs, which read
 *     line by line
 */
public record Style(boolean json, boolean colour, int width, boolean wraps) {
  /** Text without colours, for a line of 80 columns. */
  public static final Style PLAIN = new Style(false, false, 80);

  private static final int NARROWEST = 40;

  public Style {
    width = Math.max(width, NARROWEST);
  }

  /** Text for people, whose lines are wrapped. */
  public Style(boolean json, boolean colour, int width) {
    this(json, colour, width, true);
  }

  /** The same text, emphasized. */
  public String bold(String text) {
    return paint("1", text);
  }

  /** The same text, receding. */
  public String dim(String text) {
    return paint("2", text);
  }

  /** The same text as good news. */
  public String good(String text) {
    return paint("32", text);
  }

  /** The same text as bad news. */
  public String bad(String text) {
    return paint("31", text);
  }

  /**
   * The same text in one of a few colours that differ well on dark and light ground.
   *
   * @param index any number; equal numbers give equal colours
   */
  public String hue(int index, String text) {
    String[] codes = {"36", "35", "33", "34", "32", "31"};
    return paint(codes[Math.floorMod(index, codes.length)], text);
  }

  private String paint(String code, String text) {
    return colour && !text.isEmpty() ? "\u001b[" + code + "m" + text + "\u001b[0m" : text;
  }
}
