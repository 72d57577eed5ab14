// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

/**
 * The kinds of memory pool that a model or a request may use, with the names of {@code hidl_memory}
 * in NN HAL 1.2. Every device maps the first three; {@link #HARDWARE_BUFFER} is optional.
 */
public enum MemoryKind {
  /** Anonymous memory that another process can map through its handle. */
  ASHMEM("ashmem"),
  /** A range of a file; the file outlives the pool. */
  MMAP_FD("mmap_fd"),
  /** A buffer without structure from the allocator that device buffers share. */
  HARDWARE_BUFFER_BLOB("hardware_buffer_blob"),
  /** A buffer whose layout only the device knows. */
  HARDWARE_BUFFER("hardware_buffer");

  private final String halName;

  MemoryKind(String halName) {
    this.halName = halName;
  }

  /** Returns the name in the HAL, for example {@code mmap_fd}. */
  public String halName() {
    return halName;
  }
}
