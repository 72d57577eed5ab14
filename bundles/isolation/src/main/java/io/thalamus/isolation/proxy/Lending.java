// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.isolation.wire.MemoryCodec;
import io.thalamus.memory.Leases;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryHandle;
import io.thalamus.model.wire.Encoder;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Memories that the other process maps for one call. They stay mapped here until this is closed.
 * Used by one thread; owned by the call.
 *
 * <p>If the system lets no process open the descriptors of another one, the bytes cross in named
 * files instead, which the other process unlinks as soon as it has them open: all is copied there,
 * and what the device writes is copied back.
 */
final class Lending implements AutoCloseable {
  private final List<SharedMemory> memories;
  private final Leases leases;
  private final List<SharedMemoryHandle> handles = new ArrayList<>();

  /** Parallel to the memories; empty where these themselves are mapped. */
  private final List<SharedMemory> copies = new ArrayList<>();

  private Lending(List<SharedMemory> memories) {
    this.memories = memories;
    this.leases = Leases.of(memories);
  }

  /**
   * Lends memories.
   *
   * @param folder for named files; null to lend descriptors
   * @throws IOException where a file cannot be written
   * @throws IllegalStateException where a memory is closed
   * @throws io.thalamus.memory.SharedMemoryException where a memory cannot be shared
   */
  static Lending of(List<SharedMemory> memories, Path folder) throws IOException {
    Lending lending = new Lending(memories);
    boolean isLent = false;
    try {
      for (SharedMemory memory : memories) {
        lending.handles.add(folder == null ? memory.describe() : lending.copy(memory, folder));
      }
      isLent = true;
      return lending;
    } finally {
      if (!isLent) {
        lending.close();
      }
    }
  }

  private SharedMemoryHandle copy(SharedMemory memory, Path folder) throws IOException {
    SharedMemory copy = NamedFiles.allocate(memory.kind(), memory.size(), folder);
    copies.add(copy);
    copy.segment().copyFrom(memory.segment());
    SharedMemoryHandle file = copy.describe();
    return new SharedMemoryHandle(file.kind(), file.file(), 0, file.size(), !memory.isReadOnly());
  }

  /** Writes how the other process maps the memories. */
  void write(Encoder out) {
    out.list(handles, MemoryCodec::write);
  }

  /** Copies what the device wrote to where it belongs, unless it wrote there itself. */
  void copyBack(int index, long offset, long length) {
    if (!copies.isEmpty()) {
      MemorySegment.copy(
          copies.get(index).segment(), offset, memories.get(index).segment(), offset, length);
    }
  }

  @Override
  public void close() {
    leases.close();
    for (int i = 0; i < copies.size(); i++) {
      copies.get(i).close();
    }
    if (!copies.isEmpty()) {
      handles.forEach(handle -> delete(handle.file()));
    }
  }

  /** Deletes a file that the other process may not have taken. */
  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      // It goes with its folder, when the process ends.
      return;
    }
  }
}
