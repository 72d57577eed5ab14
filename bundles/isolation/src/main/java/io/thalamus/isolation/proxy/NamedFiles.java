// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryHandle;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.UUID;

/**
 * Files that the process of a device opens by name, and unlinks when it has them open. Stateless.
 */
final class NamedFiles {
  private static final int CHUNK = 1 << 16;

  private NamedFiles() {}

  /** Creates a file that nobody but this user can open. */
  static SeekableByteChannel create(Path file) throws IOException {
    return Files.newByteChannel(
        file,
        Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
  }

  /** Allocates memory in a file of a folder, whose pages are all there. */
  static SharedMemory allocate(MemoryKind kind, long size, Path folder) throws IOException {
    Path file = folder.resolve("memory-" + UUID.randomUUID());
    try (SeekableByteChannel channel = create(file)) {
      ByteBuffer zeros = ByteBuffer.allocate((int) Math.min(size, CHUNK));
      for (long left = size; left > 0; ) {
        left -= channel.write(zeros.clear().limit((int) Math.min(left, CHUNK)));
      }
    }
    return SharedMemory.map(new SharedMemoryHandle(kind, file, 0, size, true));
  }
}
