// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import java.util.List;
import org.osgi.service.log.LogEntry;

/** Entries of OSGi's log as lines for people. Stateless. */
public final class LogLines {
  /** What Felix's log has in the place of each exception, whose classes would keep their bundle. */
  private static final String STAND_IN = "org.apache.felix.log.LogException: ";

  /** They say what an exception has passed, and nothing of what is wrong. */
  private static final List<String> AROUND =
      List.of("java.lang.reflect.InvocationTargetException", "org.osgi.framework.BundleException");

  private LogLines() {}

  /** Returns who said what, and why. */
  public static String line(LogEntry entry) {
    String message = firstLine(entry.getMessage());
    Throwable cause = entry.getException();
    while (cause != null
        && cause.getCause() != null
        && AROUND.stream().anyMatch(text(cause)::startsWith)) {
      cause = cause.getCause();
    }
    return entry.getBundle().getSymbolicName()
        + ": "
        + message
        + (cause == null ? "" : ": " + firstLine(text(cause)));
  }

  private static String text(Throwable thrown) {
    String text = thrown.toString();
    return text.startsWith(STAND_IN) ? text.substring(STAND_IN.length()) : text;
  }

  private static String firstLine(String text) {
    return text.strip().lines().findFirst().orElse("");
  }
}
