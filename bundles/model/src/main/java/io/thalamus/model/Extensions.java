// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import java.util.regex.Pattern;

/** The naming rule that NN HAL 1.2 gives extensions. */
final class Extensions {
  private static final Pattern NAME = Pattern.compile("[a-z0-9_]+(\\.[a-z0-9_]+)+");
  private static final int MAX_CODE = 0xFFFF;

  private Extensions() {}

  static void check(String extension, int code) {
    if (!NAME.matcher(extension).matches()) {
      throw new IllegalArgumentException(
          "extension name '" + extension + "' is not a lower-case reverse domain name");
    }
    if (code < 0 || code > MAX_CODE) {
      throw new IllegalArgumentException("extension code " + code + " is not in 0.." + MAX_CODE);
    }
  }
}
