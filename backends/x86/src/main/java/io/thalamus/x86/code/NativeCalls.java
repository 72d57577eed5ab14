// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/**
 * Calls of code at an address and of the system. They are native methods of two small functions,
 * which are emitted like all code here, into a shared object that is loaded and removed at once:
 * that takes milliseconds. The JVM's own linker makes and compiles classes for a first call, a
 * tenth of a second of a processor, and is the way where a shared object cannot be loaded, such as
 * with a temporary directory that is mounted without the right to execute. Stateless.
 */
final class NativeCalls {
  private static final boolean IS_LOADED = isLoaded(Path.of(System.getProperty("java.io.tmpdir")));

  private NativeCalls() {}

  /**
   * Calls a function with eight numbers. What it does not take is where it does not read, and
   * whoever gets fewer bits reads the lower ones. What it returns means nothing if it returns
   * nothing. Safepoints of the JVM do not wait for it.
   */
  static long call(long function, long a, long b, long c, long d, long e, long f, long g, long h) {
    return IS_LOADED
        ? callLoaded(c, d, e, f, g, h, a, b, function)
        : Linked.call(function, a, b, c, d, e, f, g, h);
  }

  /** Calls the system; a negative number is an error. */
  static long system(long number, long a, long b, long c, long d, long e, long f) {
    return IS_LOADED
        ? systemLoaded(c, d, e, f, a, b, number)
        : Linked.system(number, a, b, c, d, e, f);
  }

  // JNI puts an environment and the class before the arguments. In this order, the third to the
  // eighth are where a function expects them.
  private static native long callLoaded(
      long c, long d, long e, long f, long g, long h, long a, long b, long function);

  private static native long systemLoaded(
      long c, long d, long e, long f, long a, long b, long number);

  /** Returns a shared object with the functions of the native methods. */
  private static byte[] functions() {
    Assembler code = new Assembler();
    code.load(Gpr.RDI, argument(2));
    code.load(Gpr.RSI, argument(3));
    code.jump(argument(4));
    code.align(16);
    int system = code.position();
    code.load(Gpr.RDI, argument(0));
    code.load(Gpr.RSI, argument(1));
    code.load(Gpr.RAX, argument(2));
    code.mov(Gpr.R10, Gpr.RCX);
    code.syscall();
    code.ret();
    String methods = "Java_" + NativeCalls.class.getName().replace('.', '_') + '_';
    return SharedObject.of(
        code.finish(),
        List.of(
            new SharedObject.Function(methods + "callLoaded", 0),
            new SharedObject.Function(methods + "systemLoaded", system)));
  }

  /** Returns where an argument is that is passed on the stack. */
  private static Address argument(int number) {
    return Address.at(Gpr.RSP, (1 + number) * Long.BYTES);
  }

  /**
   * Loads the shared object by way of a file that is new, that only this user can read and write,
   * and that exists for as long as that takes; returns whether that succeeds.
   */
  @SuppressWarnings("restricted")
  static boolean isLoaded(Path directory) {
    try {
      Path file = directory.resolve("thalamus-x86-" + Long.toHexString(System.nanoTime()) + ".so");
      Files.createFile(
          file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      try {
        Files.write(file, functions());
        System.load(file.toAbsolutePath().toString());
      } finally {
        Files.delete(file);
      }
      return true;
    } catch (IOException | UnsatisfiedLinkError e) {
      // No harm: the linker does the same.
      return false;
    }
  }

  /** The same by the JVM's linker. Linked at first use. */
  @SuppressWarnings("restricted")
  static final class Linked {
    /** java.lang.invoke.MethodHandle.CUSTOMIZE_THRESHOLD of the JDK, and one more. */
    private static final int CALLS_UNTIL_CUSTOMIZED = 128;

    private static final long GETPID = 39;

    /** Not a critical call: those hold off every safepoint of the JVM. */
    private static final MethodHandle CALL =
        Linker.nativeLinker()
            .downcallHandle(
                FunctionDescriptor.of(
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG));

    private static final long SYSTEM =
        Linker.nativeLinker().defaultLookup().findOrThrow("syscall").address();

    static {
      // The JVM makes code for this handle alone once it has been called so often: that takes
      // milliseconds, which the first execution of a network would wait for.
      for (int i = 0; i < CALLS_UNTIL_CUSTOMIZED; i++) {
        system(GETPID, 0, 0, 0, 0, 0, 0);
      }
    }

    private Linked() {}

    static long call(
        long function, long a, long b, long c, long d, long e, long f, long g, long h) {
      try {
        return (long) CALL.invokeExact(MemorySegment.ofAddress(function), a, b, c, d, e, f, g, h);
      } catch (RuntimeException | Error thrown) {
        throw thrown;
      } catch (Throwable thrown) {
        throw new IllegalStateException("a native call cannot throw", thrown);
      }
    }

    static long system(long number, long a, long b, long c, long d, long e, long f) {
      return call(SYSTEM, number, a, b, c, d, e, f, 0);
    }
  }
}
