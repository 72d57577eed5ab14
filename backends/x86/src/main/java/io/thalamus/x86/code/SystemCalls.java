// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Calls of the system that map memory, and calls of code in it. The first one fails where this
 * module has no right to native calls. Stateless.
 */
@SuppressWarnings("restricted")
public final class SystemCalls {
  private static final long PAGE = 4096;
  private static final int READ = 1;
  private static final int WRITE = 2;
  private static final int EXECUTE = 4;
  private static final int PRIVATE_ANONYMOUS = 0x22;
  private static final int MAY_MOVE = 1;
  private static final long LARGE_PAGE = 1 << 21;
  private static final int LARGE_PAGES = 14;

  // Numbers of Linux on x86-64.
  private static final long MMAP = 9;
  private static final long MPROTECT = 10;
  private static final long MUNMAP = 11;
  private static final long MREMAP = 25;
  private static final long MADVISE = 28;

  private SystemCalls() {}

  /** Returns the bytes of the pages that hold some bytes, one page at least. */
  public static long pages(long bytes) {
    return Math.max(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
  }

  /**
   * Maps memory for as long as an arena lives. It is 0 without having been filled.
   *
   * @throws OutOfMemoryError where the system refuses it
   */
  public static MemorySegment allocate(long bytes, Arena arena) {
    long mapped = pages(bytes);
    long address = map(mapped);
    if (address == 0) {
      throw new OutOfMemoryError("the system refuses " + mapped + " bytes");
    }
    return MemorySegment.ofAddress(address).reinterpret(bytes, arena, _ -> unmap(address, mapped));
  }

  /** Maps fresh memory to be read and written; returns its address, or 0 where that is refused. */
  public static long map(long bytes) {
    long address = NativeCalls.system(MMAP, 0, bytes, READ | WRITE, PRIVATE_ANONYMOUS, -1, 0);
    return address < 0 ? 0 : advised(address, bytes);
  }

  /**
   * Gives mapped memory another size. What is new is 0.
   *
   * @return where it is from now on; 0 where that is refused, and it stays as it was
   */
  public static long resize(long address, long bytes, long newBytes) {
    long moved = NativeCalls.system(MREMAP, address, bytes, newBytes, MAY_MOVE, 0, 0);
    return moved < 0 ? 0 : advised(moved, newBytes);
  }

  /**
   * Asks for large pages if there is room for one, since the first touch of each small page takes
   * the system a microsecond. A system that has none goes on with small ones.
   */
  private static long advised(long address, long bytes) {
    if (bytes >= LARGE_PAGE) {
      NativeCalls.system(MADVISE, address, bytes, LARGE_PAGES, 0, 0, 0);
    }
    return address;
  }

  /** Makes pages executable and no longer writable; returns whether the system allows that. */
  public static boolean makeExecutable(long address, long bytes) {
    return protect(address, bytes, READ | EXECUTE);
  }

  /** Takes all rights from pages: whatever touches them is stopped. */
  public static boolean forbid(long address, long bytes) {
    return protect(address, bytes, 0);
  }

  private static boolean protect(long address, long bytes, int rights) {
    return NativeCalls.system(MPROTECT, address, bytes, rights, 0, 0, 0) == 0;
  }

  /** Gives mapped pages back. */
  public static void unmap(long address, long bytes) {
    if (NativeCalls.system(MUNMAP, address, bytes, 0, 0, 0, 0) != 0) {
      throw new IllegalStateException("munmap of mapped pages fails");
    }
  }

  /** Calls code at an address that takes no more arguments than these. */
  public static void call(
      MemorySegment code, long memory, long constants, long o0, long o1, long o2, long blocks) {
    call(code, memory, constants, o0, o1, o2, blocks, 0, 0);
  }

  /**
   * Calls code at an address. The caller answers for it, and for the memory that it accesses. The
   * last two arguments are on the stack.
   */
  public static void call(
      MemorySegment code,
      long memory,
      long constants,
      long o0,
      long o1,
      long o2,
      long blocks,
      long o3,
      long o4) {
    NativeCalls.call(code.address(), memory, constants, o0, o1, o2, blocks, o3, o4);
  }
}
