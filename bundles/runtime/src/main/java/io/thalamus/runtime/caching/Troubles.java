// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.api.CompilationCache.Trouble;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What hinders compilations from being kept, by directory and cause, until one is kept there again.
 * Thread-safe.
 */
final class Troubles {
  /** Causes of one directory: a device may word its own, which could be any number. */
  private static final int MOST_CAUSES = 8;

  /** Where a small model fits and a large one does not, trouble is over and back all the time. */
  private static final Duration SILENCE = Duration.ofHours(1);

  private final InstantSource clock;
  private final Map<Path, Map<String, Instant>> known = new LinkedHashMap<>();

  /** When a cause was said last, also where it is over. */
  private final Map<Path, Map<String, Instant>> said = new HashMap<>();

  Troubles(InstantSource clock) {
    this.clock = clock;
  }

  /** Notes one, and tells whether it is to be said: it is new, or was over and not said lately. */
  synchronized boolean add(Path directory, String cause) {
    Instant now = clock.instant();
    if (put(known, directory, cause, now) != null) {
      return false;
    }
    Instant before = put(said, directory, cause, now);
    if (before == null || before.plus(SILENCE).isBefore(now)) {
      said.get(directory).put(cause, now);
      return true;
    }
    return false;
  }

  /** Adds a cause where it is not there yet, and returns since when it is. */
  private static Instant put(
      Map<Path, Map<String, Instant>> all, Path directory, String cause, Instant now) {
    Map<String, Instant> causes = all.computeIfAbsent(directory, path -> new LinkedHashMap<>());
    Instant before = causes.putIfAbsent(cause, now);
    if (causes.size() > MOST_CAUSES) {
      causes.remove(causes.keySet().iterator().next());
    }
    return before;
  }

  /** Forgets those of a directory. */
  synchronized void over(Path directory) {
    known.remove(directory);
  }

  /** Those of all directories. */
  synchronized List<Trouble> all() {
    List<Trouble> all = new ArrayList<>();
    known.forEach(
        (directory, causes) ->
            causes.forEach((cause, since) -> all.add(new Trouble(directory, cause, since))));
    return all;
  }

  /**
   * What went wrong, in words that are the same for every file of a directory: names of files that
   * pass are left out.
   */
  static String cause(Path directory, IOException e) {
    if (!(e instanceof FileSystemException failure)) {
      return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    }
    String what =
        switch (failure) {
          case AccessDeniedException _ -> "access is denied";
          case NoSuchFileException _ -> "a file is missing";
          case NotDirectoryException _, FileAlreadyExistsException _ ->
              "a file stands in the place of a directory";
          default ->
              failure.getReason() == null
                  ? failure.getClass().getSimpleName()
                  : failure.getReason();
        };
    Path where = failure.getFile() == null ? directory : Path.of(failure.getFile());
    return where.startsWith(directory) || directory.startsWith(where)
        ? what
        : what + " (in " + where.getParent() + ")";
  }
}
