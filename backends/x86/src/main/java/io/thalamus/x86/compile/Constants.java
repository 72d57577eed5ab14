// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.memory.SharedMemory;
import io.thalamus.x86.code.SystemCalls;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.util.ArrayList;
import java.util.List;

/**
 * Weights as functions read them: parts, each of which stands at a multiple of 64 bytes. They are
 * written where they stay, outside the heap, which would keep the pages of a second copy. Others
 * are shared with other compilations, or are read where the model has them; an offset says which.
 * Owned by the compilation until there is a program, and then by whoever runs or stores that.
 * Written by one thread, and read by many after that.
 *
 * <pre>
 * offset   0 ... used | 2^40 ... | 2 * 2^40 ...
 *          own parts  | shared   | shared
 * </pre>
 */
public final class Constants implements SegmentAllocator, AutoCloseable {
  private static final int ALIGNMENT = 64;
  private static final long LEAST = 1 << 16;

  /** The bits of an offset into what is shared. */
  private static final int SHARED_BITS = 40;

  private final List<Shared> shared = new ArrayList<>();
  private long address;
  private long mapped;
  private long used;

  /** Memory of others, until it is given back. */
  private record Shared(long address, long bytes, Runnable end) {}

  /** Returns where a part begins that has been copied behind the others. */
  long add(MemorySegment part) {
    MemorySegment.copy(part, 0, allocate(part.byteSize(), ALIGNMENT), 0, part.byteSize());
    return used - room(part.byteSize());
  }

  /** Returns where a part begins that is given back when this is closed. */
  long add(SharedWeights.Part part) {
    return add(new Shared(part.address(), part.bytes(), part::release));
  }

  /** Returns where bytes of memory begin that is kept until this is closed. */
  long add(SharedMemory memory, long offset, long bytes) {
    SharedMemory.Lease lease = memory.lend();
    return add(new Shared(memory.segment().address() + offset, bytes, lease::close));
  }

  private long add(Shared one) {
    shared.add(one);
    return (long) shared.size() << SHARED_BITS;
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
    return own().asSlice(begin, bytes);
  }

  static long room(long bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  /** Returns the bytes of its own parts, and of what lies between them. */
  public long bytes() {
    return used;
  }

  /** Returns the bytes of all parts. */
  public long allBytes() {
    long bytes = used;
    for (Shared one : shared) {
      bytes += one.bytes();
    }
    return bytes;
  }

  /** Returns how many bytes there are from an offset on; negative if it is behind all. */
  public long bytesFrom(long offset) {
    int number = number(offset);
    if (number < 0 || number > shared.size()) {
      return -1;
    }
    return (number == 0 ? used : shared.get(number - 1).bytes()) - within(offset);
  }

  /** Returns the address of an offset, valid until this is closed or gets more. */
  public long address(long offset) {
    int number = number(offset);
    return (number == 0 ? address : shared.get(number - 1).address()) + within(offset);
  }

  private static int number(long offset) {
    return (int) (offset >> SHARED_BITS);
  }

  private static long within(long offset) {
    return offset & (1L << SHARED_BITS) - 1;
  }

  /** Returns some bytes, valid until this is closed or gets more. */
  public MemorySegment at(long offset, long bytes) {
    return memory(address(offset), Math.max(0, bytesFrom(offset))).asSlice(0, bytes);
  }

  @SuppressWarnings("restricted")
  static MemorySegment memory(long address, long bytes) {
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  /** Returns its own parts and what lies between them, valid until this is closed or gets more. */
  public MemorySegment own() {
    return memory(address, used);
  }

  /** Copies of all parts, each of which has another offset. */
  public final class Copy {
    private final Constants constants = new Constants();
    private final long[] offsets = new long[shared.size() + 1];

    /** Makes the copies. */
    public Copy() {
      offsets[0] = constants.add(own());
      for (int i = 0; i < shared.size(); i++) {
        offsets[i + 1] = constants.add(memory(shared.get(i).address(), shared.get(i).bytes()));
      }
    }

    /** Returns them, as the caller's own. */
    public Constants constants() {
      return constants;
    }

    /** Returns what has become of an offset. */
    public long offset(long offset) {
      return offsets[number(offset)] + within(offset);
    }
  }

  /** Gives the memory back, after the last call that reads it. Calling it again does nothing. */
  @Override
  public void close() {
    shared.forEach(one -> one.end().run());
    shared.clear();
    if (mapped > 0) {
      SystemCalls.unmap(address, mapped);
      address = 0;
      mapped = 0;
      used = 0;
    }
  }
}
