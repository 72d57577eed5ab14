// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

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

/** Files of the user alone that appear whole or not at all. Stateless. */
final class AtomicFiles {
  private static final String TEMPORARY = ".new";

  private AtomicFiles() {}

  /** A name beside a file that nobody else uses. */
  static Path temporary(Path file) {
    return file.resolveSibling(file.getFileName() + "." + UUID.randomUUID() + TEMPORARY);
  }

  /** Whether a file is one that a killed process left behind. */
  static boolean isTemporary(Path file) {
    return file.getFileName().toString().endsWith(TEMPORARY);
  }

  /** Puts a file in the place of what was there before. */
  static void replace(Path file, byte[]... parts) throws IOException {
    Path fresh = temporary(file);
    try {
      writeNew(fresh, parts);
      Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(fresh);
    }
  }

  /** Writes a file that is not there yet, down to the disk. */
  static void writeNew(Path file, byte[]... parts) throws IOException {
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
      // Renamed before its bytes are on the disk, it could be empty after a power cut.
      out.force(false);
    }
  }

  /** Makes a directory, and those above it. */
  static void createDirectories(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      Path existing = directory;
      while (existing.getParent() != null && !Files.exists(existing)) {
        existing = existing.getParent();
      }
      Files.createDirectories(directory, forTheUser(existing, true));
    }
  }

  private static FileAttribute<?>[] forTheUser(Path path, boolean directory) {
    if (!path.getFileSystem().supportedFileAttributeViews().contains("posix")) {
      return new FileAttribute<?>[0];
    }
    Set<PosixFilePermission> permissions =
        EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);
    if (directory) {
      permissions.add(PosixFilePermission.OWNER_EXECUTE);
    }
    return new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(permissions)};
  }
}
