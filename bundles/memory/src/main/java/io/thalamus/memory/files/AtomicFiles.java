// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory.files;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Set;
import java.util.UUID;

/**
 * Files that appear whole or not at all, whatever process or machine stops meanwhile. Stateless.
 *
 * <p>A file is written beside its place, down to the disk, and renamed. A killed process can leave
 * the other name behind, which {@link #isTemporary} tells.
 */
public final class AtomicFiles {
  private static final String TEMPORARY = ".new";

  private AtomicFiles() {}

  /** The content of a file. */
  @FunctionalInterface
  public interface Content {
    /** Creates or empties the file, and fills it. */
    void writeTo(Path file) throws IOException;
  }

  /** Returns a name beside a file that nobody else uses. */
  public static Path temporary(Path file) {
    return file.resolveSibling(file.getFileName() + "." + UUID.randomUUID() + TEMPORARY);
  }

  /** Returns whether a file is one that a killed process left behind, or that is being written. */
  public static boolean isTemporary(Path file) {
    return file.getFileName().toString().endsWith(TEMPORARY);
  }

  /**
   * Puts a file, which others may read as the system's defaults have it, in the place of an earlier
   * one.
   *
   * @throws IOException where that fails; the earlier file is then still there
   */
  public static void replace(Path file, Content content) throws IOException {
    rename(
        file,
        fresh -> {
          content.writeTo(fresh);
          try (FileChannel channel = FileChannel.open(fresh, StandardOpenOption.WRITE)) {
            channel.force(true);
          }
        });
  }

  /**
   * Puts a file that only its user can read in the place of an earlier one.
   *
   * @throws IOException where that fails; the earlier file is then still there
   */
  public static void replacePrivately(Path file, byte[]... parts) throws IOException {
    rename(file, fresh -> createPrivately(fresh, parts));
  }

  /** Renames a file that is on the disk: renamed earlier, it could be empty after a power cut. */
  private static void rename(Path file, Content content) throws IOException {
    Path fresh = temporary(file);
    try {
      content.writeTo(fresh);
      Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(fresh);
    }
  }

  /** Writes a file that is not there yet and that only its user can read, down to the disk. */
  public static void createPrivately(Path file, byte[]... parts) throws IOException {
    try (FileChannel out =
        FileChannel.open(
            file,
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            forTheUser(file, false))) {
      for (byte[] part : parts) {
        ByteBuffer bytes = ByteBuffer.wrap(part);
        while (bytes.hasRemaining()) {
          out.write(bytes);
        }
      }
      out.force(true);
    }
  }

  /** Creates a directory that only its user can enter, and those above it that are not there. */
  public static void createDirectoriesPrivately(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      Path existing = directory;
      while (existing.getParent() != null && !Files.exists(existing)) {
        existing = existing.getParent();
      }
      Files.createDirectories(directory, forTheUser(existing, true));
    }
  }

  private static FileAttribute<?>[] forTheUser(Path path, boolean isDirectory) {
    if (!path.getFileSystem().supportedFileAttributeViews().contains("posix")) {
      return new FileAttribute<?>[0];
    }
    Set<PosixFilePermission> permissions =
        EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);
    if (isDirectory) {
      permissions.add(PosixFilePermission.OWNER_EXECUTE);
    }
    return new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(permissions)};
  }
}
