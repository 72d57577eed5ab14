// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.util.ArrayList;
import java.util.List;

/**
 * Memories that stay mapped until this is closed. Used by one thread at a time; owned by whoever
 * made it.
 */
public final class Leases implements AutoCloseable {
  private final List<SharedMemory> memories = new ArrayList<>();

  /**
   * Returns leases of all these memories.
   *
   * @throws IllegalStateException if one of them is closed and unmapped; then none is kept
   */
  public static Leases of(Iterable<SharedMemory> memories) {
    Leases leases = new Leases();
    try {
      memories.forEach(leases::add);
      return leases;
    } catch (IllegalStateException e) {
      leases.close();
      throw e;
    }
  }

  /**
   * Keeps one more memory mapped.
   *
   * @throws IllegalStateException if it is closed and unmapped; the others stay
   */
  public void add(SharedMemory memory) {
    memory.retain();
    memories.add(memory);
  }

  /** Ends all leases. Calling it again does nothing. */
  @Override
  public void close() {
    memories.forEach(SharedMemory::release);
    memories.clear();
  }
}
