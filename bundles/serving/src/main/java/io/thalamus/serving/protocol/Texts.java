// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.protocol;

/** Texts of clients in messages. */
public final class Texts {
  /** Longer texts are cut. */
  private static final int LONGEST = 80;

  private Texts() {}

  /** Returns a text in quotes, cut and in one line. */
  public static String quote(String text) {
    return "'" + cut(text) + "'";
  }

  /** Returns a text, cut and in one line. */
  public static String cut(String text) {
    return line(text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "...");
  }

  /** Returns a text in one line; an empty one for null. */
  public static String line(String text) {
    return text == null ? "" : text.replaceAll("\\s*\\p{Cntrl}+\\s*", " ");
  }
}
