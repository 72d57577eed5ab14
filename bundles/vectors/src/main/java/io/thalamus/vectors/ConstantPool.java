// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Collects the constants of one model and lays them out in one memory. Not thread-safe. */
final class ConstantPool {
  private final List<byte[]> values = new ArrayList<>();
  private final List<Long> offsets = new ArrayList<>();
  private long size;

  /** Adds a value; its offset in the memory to be. */
  long add(byte[] value) {
    long offset = align(size, value.length);
    values.add(value);
    offsets.add(offset);
    size = offset + value.length;
    return offset;
  }

  /** The memory with all values, owned by the caller; none where there are no values. */
  Optional<SharedMemory> build() {
    if (values.isEmpty()) {
      return Optional.empty();
    }
    byte[] all = new byte[Math.toIntExact(size)];
    for (int i = 0; i < values.size(); i++) {
      byte[] value = values.get(i);
      System.arraycopy(value, 0, all, Math.toIntExact(offsets.get(i)), value.length);
    }
    return Optional.of(SharedMemory.copyOf(MemorySegment.ofArray(all)));
  }

  /** NNAPI's alignBytesNeeded: one byte anywhere, up to three at even offsets, more at fours. */
  private static long align(long offset, int length) {
    int alignment = length < 2 ? 1 : length < 4 ? 2 : 4;
    return (offset + alignment - 1) / alignment * alignment;
  }
}
