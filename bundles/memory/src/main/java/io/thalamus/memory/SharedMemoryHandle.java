// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.nio.file.Path;
import java.util.Objects;

/**
 * The file and the range by which another process maps a piece of shared memory. A value; it stays
 * valid as long as the {@link SharedMemory} that it describes is open.
 *
 * @param kind the kind of pool
 * @param file the file to open; for anonymous memory a path below {@code /proc}
 * @param offset first byte of the range in the file
 * @param size length of the range in bytes
 * @param writable whether the range may be mapped for writing
 */
public record SharedMemoryHandle(
    MemoryKind kind, Path file, long offset, long size, boolean writable) {
  public SharedMemoryHandle {
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(file, "file");
    if (offset < 0 || size < 0) {
      throw new IllegalArgumentException("negative range: offset " + offset + ", size " + size);
    }
  }
}
