// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded;

import static java.nio.file.attribute.PosixFilePermission.OWNER_EXECUTE;
import static java.nio.file.attribute.PosixFilePermission.OWNER_READ;
import static java.nio.file.attribute.PosixFilePermission.OWNER_WRITE;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A temporary folder, which is removed when it is closed, or when the JVM ends before that.
 * Thread-safe.
 */
final class Folder implements AutoCloseable {
  private final Path path;
  private final Thread hook;

  private Folder(Path path) {
    this.path = path;
    this.hook = new Thread(this::remove, "thalamus-remove");
  }

  /**
   * Makes a folder that no other user may enter. Names that nobody can guess would take a generator
   * of secrets, which costs a start 20 ms; a folder that is there already is left alone.
   */
  static Folder create() throws IOException {
    Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
    long number = System.nanoTime();
    while (true) {
      try {
        Path path = temporary.resolve("thalamus-" + Long.toUnsignedString(number, 36));
        return registered(new Folder(Files.createDirectory(path, owner(temporary))));
      } catch (FileAlreadyExistsException _) {
        number++;
      }
    }
  }

  private static FileAttribute<?>[] owner(Path temporary) {
    return temporary.getFileSystem().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          // Not fromString: its set of an enum is the first use of reflection, which takes long.
          PosixFilePermissions.asFileAttribute(Set.of(OWNER_READ, OWNER_WRITE, OWNER_EXECUTE))
        }
        : new FileAttribute<?>[0];
  }

  private static Folder registered(Folder folder) {
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
      System.getLogger(Folder.class.getName())
          .log(System.Logger.Level.WARNING, "cannot remove " + path, e);
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
