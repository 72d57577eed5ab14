// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.FileSystemException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which causes of trouble the log was told, so that each is told once until it is over.
 * Thread-safe.
 */
final class Told {
  private final Set<String> causes = ConcurrentHashMap.newKeySet();

  /** How loud a cause is to be told. */
  Level level(IOException e) {
    return causes.add(cause(e)) ? Level.WARNING : Level.DEBUG;
  }

  /** Without the names of files, some of which pass and come again under others. */
  private static String cause(IOException e) {
    String detail = e instanceof FileSystemException failure ? failure.getReason() : e.getMessage();
    return e.getClass().getName() + ": " + detail;
  }

  /** What was told does not count any more. */
  void over() {
    causes.clear();
  }
}
