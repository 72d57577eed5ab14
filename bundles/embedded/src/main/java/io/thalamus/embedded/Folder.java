// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A temporary folder, which is removed when it is closed, or when the JVM ends before that.
 * Thread-safe.
 */
final class Folder implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Folder.class.getName());

  private final Path path;
  private final Thread hook;

  private Folder(Path path) {
    this.path = path;
    this.hook = new Thread(this::remove, "thalamus-remove");
  }

  static Folder create() throws IOException {
    Folder folder = new Folder(Files.createTempDirectory("thalamus-"));
    Runtime.getRuntime().addShutdownHook(folder.hook);
    return folder;
  }

  Path path() {
    return path;
  }

  private void remove() {
    try (Stream<Path> files = Files.walk(path)) {
      List<Path> deepestFirst = files.sorted(Comparator.reverseOrder()).toList();
      for (Path file : deepestFirst) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, "cannot remove " + path, e);
    }
  }

  @Override
  public void close() {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException _) {
      return; // the JVM is ending, and the hook removes the folder
    }
    remove();
  }
}
