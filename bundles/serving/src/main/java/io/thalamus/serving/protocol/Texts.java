// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.protocol;

import io.thalamus.serving.ServingException;

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
    return ServingException.line(
        text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "...");
  }
}
