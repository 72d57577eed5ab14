// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A folder of the kit's own that goes with all its files when it is closed. Immutable.
 *
 * @param path of the folder
 */
public record TemporaryFolder(Path path) implements AutoCloseable {
  /** Makes a folder among the temporary files of the process. */
  public static TemporaryFolder create() throws IOException {
    return new TemporaryFolder(Files.createTempDirectory("thalamus-certify"));
  }

  @Override
  public void close() throws IOException {
    List<Path> paths = new ArrayList<>();
    try (Stream<Path> all = Files.walk(path)) {
      all.sorted(Comparator.reverseOrder()).forEach(paths::add);
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    for (Path file : paths) {
      Files.deleteIfExists(file);
    }
  }
}
