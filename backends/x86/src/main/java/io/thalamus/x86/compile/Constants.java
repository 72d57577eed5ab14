// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Weights as functions read them: parts on the heap, each of which stands at a multiple of 64
 * bytes. They are put together but once, where they are to stand. Immutable; arrays are not copied.
 */
public record Constants(List<MemorySegment> parts) {
  private static final int ALIGNMENT = 64;

  /** No constants. */
  public static final Constants NONE = new Constants(List.of());

  public Constants {
    parts = List.copyOf(parts);
  }

  /** Returns what {@link #toArray} returned. */
  public static Constants of(byte[] bytes) {
    return new Constants(List.of(MemorySegment.ofArray(bytes)));
  }

  /** Returns the bytes that a part takes, with what lies between it and the next one. */
  static long room(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  /** Returns the bytes of all parts, and of what lies between them. */
  public long bytes() {
    return parts.stream().mapToLong(part -> room(part.byteSize())).sum();
  }

  /** Copies all parts to where they are to stand. */
  public void copyTo(MemorySegment memory) {
    long at = 0;
    for (MemorySegment part : parts) {
      MemorySegment.copy(part, 0, memory, at, part.byteSize());
      at += room(part.byteSize());
    }
  }

  /** Returns all parts and what lies between them. */
  public byte[] toArray() {
    byte[] bytes = new byte[Math.toIntExact(bytes())];
    copyTo(MemorySegment.ofArray(bytes));
    return bytes;
  }
}
