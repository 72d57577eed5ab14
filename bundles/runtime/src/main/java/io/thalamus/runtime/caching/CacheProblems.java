// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.api.CompilationCache.Trouble;
import io.thalamus.memory.files.LogOnce;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reasons why compilations are not stored, by directory, until one is stored there again.
 * Thread-safe.
 */
final class CacheProblems {
  /**
   * The time between two lines on one problem, since it comes and goes when a small model fits and
   * a large one does not.
   */
  private static final Duration SILENCE = Duration.ofHours(1);

  private final InstantSource clock;
  private final Map<Path, LogOnce> directories = new LinkedHashMap<>();

  CacheProblems(InstantSource clock) {
    this.clock = clock;
  }

  /** Notes a cause, and returns the level to log it at. */
  synchronized Level add(Path directory, String cause) {
    return directories.computeIfAbsent(directory, path -> new LogOnce(clock, SILENCE)).level(cause);
  }

  /** Forgets the problems of a directory. */
  synchronized void over(Path directory) {
    LogOnce causes = directories.get(directory);
    if (causes != null) {
      causes.over();
    }
  }

  /** Returns the problems of all directories. */
  synchronized List<Trouble> all() {
    List<Trouble> all = new ArrayList<>();
    directories.forEach(
        (directory, causes) ->
            causes
                .present()
                .forEach((cause, since) -> all.add(new Trouble(directory, cause, since))));
    return all;
  }

  /**
   * Returns the cause of a failure in words that are the same for every file of a directory: names
   * of temporary files are left out.
   */
  static String cause(Path directory, IOException e) {
    if (!(e instanceof FileSystemException failure)) {
      return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    }
    Path where = failure.getFile() == null ? directory : Path.of(failure.getFile());
    String what =
        switch (failure) {
          case AccessDeniedException _ -> "access is denied";
          case NoSuchFileException _ ->
              directory.startsWith(where) ? "it cannot be created there" : "a file is missing";
          case NotDirectoryException _, FileAlreadyExistsException _ ->
              "a file stands in the place of a directory";
          default ->
              failure.getReason() == null
                  ? failure.getClass().getSimpleName()
                  : failure.getReason();
        };
    return where.startsWith(directory) || directory.startsWith(where)
        ? what
        : what + " (in " + where.getParent() + ")";
  }
}
