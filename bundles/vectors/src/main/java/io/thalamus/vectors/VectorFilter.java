// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.nio.file.FileSystems;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.PathMatcher;

/**
 * Picks examples by a glob over {@code folder/file}, over the file alone, or over the name of the
 * example; the ending {@code .json} may be left out. Immutable.
 */
public final class VectorFilter {
  /** Everything. */
  public static final VectorFilter ALL = of("**");

  private final String pattern;
  private final PathMatcher matcher;

  private VectorFilter(String pattern, PathMatcher matcher) {
    this.pattern = pattern;
    this.matcher = matcher;
  }

  /**
   * A filter for a glob as of {@link java.nio.file.FileSystem#getPathMatcher}.
   *
   * @throws IllegalArgumentException where it is malformed
   */
  public static VectorFilter of(String glob) {
    return new VectorFilter(glob, FileSystems.getDefault().getPathMatcher("glob:" + glob));
  }

  /** The glob. */
  public String pattern() {
    return pattern;
  }

  /** Returns whether an example is picked. */
  public boolean accepts(String file, String example) {
    return acceptsFile(file) || matches(example);
  }

  private boolean matches(String example) {
    try {
      return matcher.matches(Path.of(example));
    } catch (InvalidPathException e) {
      // Names are free text; one that cannot be a path is reached through its file only.
      return false;
    }
  }

  /** Returns whether all examples of a file are picked. */
  boolean acceptsFile(String file) {
    Path path = Path.of(file);
    Path bare = Path.of(file.endsWith(".json") ? file.substring(0, file.length() - 5) : file);
    return matcher.matches(path)
        || matcher.matches(bare)
        || matcher.matches(path.getFileName())
        || matcher.matches(bare.getFileName());
  }
}
