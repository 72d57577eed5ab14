// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Memory of any kind that holds given bytes. Immutable; owned by its maker: closing it frees the
 * memory and deletes the file that it maps.
 *
 * @param memory the memory, which can be written unless it is a file's
 * @param file the file that is mapped, for that kind
 */
public record FilledMemory(SharedMemory memory, Optional<Path> file) implements AutoCloseable {
  /**
   * Returns memory of a kind with a copy of these bytes.
   *
   * @throws IOException where the file cannot be written
   */
  public static FilledMemory of(MemoryKind kind, MemorySegment bytes) throws IOException {
    if (kind == MemoryKind.MMAP_FD) {
      Path file = Files.createTempFile("thalamus-certify", ".bin");
      Files.write(file, bytes.toArray(ValueLayout.JAVA_BYTE));
      return new FilledMemory(SharedMemory.map(file), Optional.of(file));
    }
    SharedMemory memory = SharedMemory.allocate(kind, bytes.byteSize());
    memory.segment().copyFrom(bytes);
    return new FilledMemory(memory, Optional.empty());
  }

  @Override
  public void close() {
    memory.close();
    try {
      if (file.isPresent()) {
        Files.deleteIfExists(file.get());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
