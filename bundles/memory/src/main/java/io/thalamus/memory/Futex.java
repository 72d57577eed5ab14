// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Locale;

/**
 * Sleep by the futex of Linux, which is the only native call of this bundle. Thread-safe.
 *
 * <p>The C library has no function for futexes but {@code syscall}. Addresses are passed as
 * numbers, so that a call allocates nothing; callers keep the memory mapped.
 */
final class Futex implements Sleep {
  // Without FUTEX_PRIVATE_FLAG: the other threads may be in another process.
  private static final long FUTEX_WAIT = 0;
  private static final long FUTEX_WAKE = 1;
  private static final long NULL = 0;
  private static final long UNSIGNED_INT = 0xffff_ffffL;
  private static final long NANOS_PER_SECOND = 1_000_000_000;

  /** A struct timespec of systems with 64 bits. */
  private static final MemoryLayout TIMESPEC =
      MemoryLayout.sequenceLayout(2, ValueLayout.JAVA_LONG);

  private final long number;

  /** One for each thread that waits, so that a wait allocates nothing. */
  private final ThreadLocal<MemorySegment> timespecs =
      ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(TIMESPEC));

  private Futex(long number) {
    this.number = number;
  }

  /** Returns the futex if this system has it and this module may call it; otherwise polling. */
  static Sleep link() {
    String system = System.getProperty("os.name");
    String processor = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    long number =
        switch (processor) {
          case "amd64", "x86_64" -> 202;
          case "aarch64" -> 98;
          default -> -1;
        };
    if (!system.equals("Linux") || number < 0) {
      return new Polling("no futex is known for " + system + " on " + processor);
    }
    if (!Futex.class.getModule().isNativeAccessEnabled()) {
      return new Polling("start java with " + NativeAccess.option(Futex.class) + " for futexes");
    }
    return probe(new Futex(number));
  }

  /** Wakes nobody, which fails where a filter of system calls forbids futexes. */
  private static Sleep probe(Futex futex) {
    try (Arena arena = Arena.ofConfined()) {
      long woken = futex.call(arena.allocate(ValueLayout.JAVA_INT).address(), FUTEX_WAKE, 1, NULL);
      return woken == 0 ? futex : new Polling("this system refuses futexes");
    } catch (ExceptionInInitializerError e) {
      return new Polling("futexes cannot be linked: " + e.getCause().getMessage());
    }
  }

  @Override
  public void sleep(long address, int expected, long nanos, int round) {
    MemorySegment timespec = timespecs.get();
    timespec.setAtIndex(ValueLayout.JAVA_LONG, 0, nanos / NANOS_PER_SECOND);
    timespec.setAtIndex(ValueLayout.JAVA_LONG, 1, nanos % NANOS_PER_SECOND);
    // The result says nothing that the caller does not see by the word and the clock: 0 is also
    // returned without a reason, and the errors are a word that has changed (EAGAIN), a signal
    // (EINTR) and the end of the time (ETIMEDOUT).
    call(address, FUTEX_WAIT, expected & UNSIGNED_INT, timespec.address());
  }

  @Override
  public void wakeAll(long address) {
    call(address, FUTEX_WAKE, Integer.MAX_VALUE, NULL);
  }

  private long call(long address, long operation, long value, long timeout) {
    try {
      return (long) Linked.SYSCALL.invokeExact(number, address, operation, value, timeout);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("a system call cannot throw", e);
    }
  }

  @Override
  public String description() {
    return "futex";
  }

  /** Linked at first use. The calls block, so that they are not critical ones. */
  @SuppressWarnings("restricted")
  private static final class Linked {
    private static final MethodHandle SYSCALL =
        Linker.nativeLinker()
            .downcallHandle(
                Linker.nativeLinker().defaultLookup().findOrThrow("syscall"),
                FunctionDescriptor.of(
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG, // number of the call
                    ValueLayout.JAVA_LONG, // address of the word
                    ValueLayout.JAVA_LONG, // operation
                    ValueLayout.JAVA_LONG, // expected value, or how many to wake
                    ValueLayout.JAVA_LONG), // address of the timeout
                Linker.Option.firstVariadicArg(1));

    private Linked() {}
  }
}
