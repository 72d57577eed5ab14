// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.host;

import io.thalamus.isolation.wire.MemoryCodec;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.memory.SharedMemoryHandle;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.WireFormatException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Memories of the container that are mapped here. Used by one thread at a time. */
final class MappedMemories implements AutoCloseable {
  private final List<SharedMemory> memories = new ArrayList<>();

  /**
   * Maps memories, and unlinks the files of those that have a name in a folder.
   *
   * @throws SharedMemoryException where one of them cannot be mapped; then none is
   */
  static MappedMemories read(Decoder in, Path folder) throws WireFormatException {
    return map(in.list(MemoryCodec::handle), folder);
  }

  static MappedMemories map(List<SharedMemoryHandle> handles, Path folder) {
    MappedMemories mapped = new MappedMemories();
    boolean isMapped = false;
    try {
      for (SharedMemoryHandle handle : handles) {
        mapped.memories.add(SharedMemory.map(handle));
        if (handle.file().startsWith(folder)) {
          unlink(handle.file());
        }
      }
      isMapped = true;
      return mapped;
    } finally {
      if (!isMapped) {
        mapped.close();
      }
    }
  }

  private static void unlink(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new SharedMemoryException("cannot unlink " + file + ": " + e.getMessage(), e);
    }
  }

  List<SharedMemory> list() {
    return memories;
  }

  /** Lets the memories go, at once or when the device has returned its leases. */
  @Override
  public void close() {
    memories.forEach(SharedMemory::close);
  }
}
