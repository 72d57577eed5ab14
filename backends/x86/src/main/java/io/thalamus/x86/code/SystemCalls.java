// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * The functions of the C library that map memory, and calls of code in it. Linked at first use,
 * which fails where this module has no right to native calls. Stateless.
 */
@SuppressWarnings("restricted")
public final class SystemCalls {
  private static final long PAGE = 4096;
  private static final int READ = 1;
  private static final int WRITE = 2;
  private static final int EXECUTE = 4;
  private static final int PRIVATE_ANONYMOUS = 0x22;
  private static final long FAILED = -1;

  private static final MethodHandle MMAP =
      link(
          "mmap",
          FunctionDescriptor.of(
              ValueLayout.JAVA_LONG,
              ValueLayout.JAVA_LONG, // where, 0 for anywhere
              ValueLayout.JAVA_LONG, // bytes
              ValueLayout.JAVA_INT, // rights
              ValueLayout.JAVA_INT, // flags
              ValueLayout.JAVA_INT, // file
              ValueLayout.JAVA_LONG)); // offset
  private static final MethodHandle MPROTECT =
      link(
          "mprotect",
          FunctionDescriptor.of(
              ValueLayout.JAVA_INT,
              ValueLayout.JAVA_LONG,
              ValueLayout.JAVA_LONG,
              ValueLayout.JAVA_INT));
  private static final MethodHandle MUNMAP =
      link(
          "munmap",
          FunctionDescriptor.of(
              ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

  /**
   * One handle for all functions. Not a critical call: those hold off every safepoint of the JVM.
   */
  private static final MethodHandle CALL =
      linker()
          .downcallHandle(
              FunctionDescriptor.ofVoid(
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG,
                  ValueLayout.JAVA_LONG));

  private SystemCalls() {}

  private static Linker linker() {
    return Linker.nativeLinker();
  }

  private static MethodHandle link(String name, FunctionDescriptor descriptor) {
    return linker().downcallHandle(linker().defaultLookup().findOrThrow(name), descriptor);
  }

  /** Returns the bytes of the pages that hold some bytes, one page at least. */
  static long pages(long bytes) {
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
    try {
      long address = (long) MMAP.invokeExact(0L, bytes, READ | WRITE, PRIVATE_ANONYMOUS, -1, 0L);
      return address == FAILED ? 0 : address;
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw broken(e);
    }
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
    try {
      return (int) MPROTECT.invokeExact(address, bytes, rights) == 0;
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  /** Gives mapped pages back. */
  public static void unmap(long address, long bytes) {
    try {
      int result = (int) MUNMAP.invokeExact(address, bytes);
      if (result != 0) {
        throw new IllegalStateException("munmap of mapped pages fails");
      }
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  /** Calls code at an address. The caller answers for it, and for the memory that it accesses. */
  public static void call(
      MemorySegment code, long memory, long constants, long o0, long o1, long o2, long o3) {
    try {
      CALL.invokeExact(code, memory, constants, o0, o1, o2, o3);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw broken(e);
    }
  }

  private static IllegalStateException broken(Throwable cause) {
    return new IllegalStateException("a native call cannot throw", cause);
  }
}
