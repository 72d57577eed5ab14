// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.x86.code.SystemCalls;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;

/**
 * Weights as functions read them: parts, each of which stands at a multiple of 64 bytes. They are
 * written where they stay, outside the heap, which would keep the pages of a second copy. Owned by
 * the compilation until there is a program, and then by whoever runs or stores that. Written by one
 * thread, and read by many after that.
 */
public final class Constants implements SegmentAllocator, AutoCloseable {
  private static final int ALIGNMENT = 64;
  private static final long LEAST = 1 << 16;

  private long address;
  private long mapped;
  private long used;

  /** Returns where a part begins that has been copied behind the others. */
  long add(MemorySegment part) {
    MemorySegment.copy(part, 0, allocate(part.byteSize(), ALIGNMENT), 0, part.byteSize());
    return used - room(part.byteSize());
  }

  /**
   * Returns zeros behind the other parts, to be written before there are more.
   *
   * @param alignment at most 64
   */
  @Override
  public MemorySegment allocate(long bytes, long alignment) {
    long begin = used;
    long end = begin + room(bytes);
    if (end > mapped) {
      long wanted = SystemCalls.pages(Math.max(LEAST, Math.max(end, 2 * mapped)));
      long moved =
          mapped == 0 ? SystemCalls.map(wanted) : SystemCalls.resize(address, mapped, wanted);
      if (moved == 0) {
        throw new OutOfMemoryError("the system refuses " + wanted + " bytes for weights");
      }
      address = moved;
      mapped = wanted;
    }
    used = end;
    return segment().asSlice(begin, bytes);
  }

  private static long room(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  /** Returns the bytes of all parts, and of what lies between them. */
  public long bytes() {
    return used;
  }

  /** Returns all parts and what lies between them, valid until this is closed or gets more. */
  @SuppressWarnings("restricted")
  public MemorySegment segment() {
    return MemorySegment.ofAddress(address).reinterpret(used);
  }

  /** Returns a copy of {@link #segment}. */
  public byte[] toArray() {
    return segment().toArray(ValueLayout.JAVA_BYTE);
  }

  /** Gives the memory back, after the last call that reads it. Calling it again does nothing. */
  @Override
  public void close() {
    if (mapped > 0) {
      SystemCalls.unmap(address, mapped);
      address = 0;
      mapped = 0;
      used = 0;
    }
  }
}
