// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/** The naming rule that NN HAL 1.2 gives extensions. Stateless. */
public final class Extensions {
  private static final int MAX_CODE = 0xFFFF;

  private Extensions() {}

  /**
   * Returns whether a name is a lower-case reverse domain name: two parts or more of letters,
   * digits and underscores, with a dot between them.
   */
  public static boolean isName(String name) {
    // The JDK's regular expressions would take milliseconds of each start.
    boolean hasDot = false;
    char before = '.';
    for (int i = 0; i < name.length(); i++) {
      char one = name.charAt(i);
      boolean isDot = one == '.';
      if (isDot ? before == '.' : !isPart(one)) {
        return false;
      }
      hasDot |= isDot;
      before = one;
    }
    return hasDot && before != '.';
  }

  private static boolean isPart(char one) {
    return one >= 'a' && one <= 'z' || one >= '0' && one <= '9' || one == '_';
  }

  static void check(String extension, int code) {
    if (!isName(extension)) {
      throw new IllegalArgumentException(
          "extension name '" + extension + "' is not a lower-case reverse domain name");
    }
    if (code < 0 || code > MAX_CODE) {
      throw new IllegalArgumentException("extension code " + code + " is not in 0.." + MAX_CODE);
    }
  }
}
