// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Result;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;

/**
 * The answer of {@code nn:new-device}. Immutable.
 *
 * @param device its short name
 * @param folder that of the project, as it was given
 * @param files how many were written
 * @param jar to be built
 */
public record NewDeviceResult(String device, String folder, int files, String jar, Style style)
    implements Result {
  @Override
  public String text() {
    return new Lines()
        .add("wrote %s files of the device %s to %s".formatted(files, style.bold(device), folder))
        .gap()
        .add("  mvn -f %s verify".formatted(word(folder)))
        .add("  nn:install %s".formatted(word(jar)))
        .add("  nn:certify %s".formatted(device))
        .toString();
  }

  /** Returns a file as it is typed, in a shell of the system's as in this one. */
  private static String word(String file) {
    return file.matches("[\\w@%+=:,./-]+") ? file : "'" + file.replace("'", "'\\''") + "'";
  }
}
