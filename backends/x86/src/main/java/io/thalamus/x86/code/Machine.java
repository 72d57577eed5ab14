// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import io.thalamus.memory.NativeAccess;
import io.thalamus.x86.asm.Level;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * The instructions that this machine allows. Immutable.
 *
 * @param levels that processor and system have; empty where the device cannot run at all
 * @param reason one line for people; empty where it can
 */
public record Machine(Set<Level> levels, String reason) {
  private static final String CPU_INFO = "/proc/cpuinfo";

  private static final byte RETURN = (byte) 0xC3;

  /** Bytes that hold the first processor; the system writes the others when they are read. */
  private static final int ENOUGH = 8192;

  /** A machine held to one level. */
  public static Machine of(Level level) {
    return new Machine(Set.of(level), "");
  }

  /** Returns the fastest level; empty where the device cannot run at all. */
  public Optional<Level> best() {
    Level best = null;
    for (Level level : levels) {
      best = best == null || level.compareTo(best) > 0 ? level : best;
    }
    return Optional.ofNullable(best);
  }

  /** Looks at this machine and calls code once: every refusal is a reason, never an exception. */
  public static Machine probe() {
    Machine seen =
        look(
            System.getProperty("os.name"),
            System.getProperty("os.arch"),
            Machine.class.getModule().isNativeAccessEnabled());
    return seen.best().isPresent() ? seen.tried() : seen;
  }

  private Machine tried() {
    try {
      Optional<ExecutableMemory> function = ExecutableMemory.of(new byte[] {RETURN});
      if (function.isEmpty()) {
        return refused("this system refuses memory for code");
      }
      try (ExecutableMemory code = function.get()) {
        SystemCalls.call(code.at(0), 0, 0, 0, 0, 0, 0);
      }
      return this;
    } catch (LinkageError e) {
      // Its cause, unless another thread has tried before.
      return refused(
          "the C library cannot be linked: " + Objects.requireNonNullElse(e.getCause(), e));
    }
  }

  private static boolean isForeign(String system, String processor) {
    return !system.equals("Linux")
        || !List.of("amd64", "x86_64").contains(processor.toLowerCase(Locale.ROOT));
  }

  /** Returns whether the device is not made for this system or processor at all. */
  public static boolean isForeign() {
    return isForeign(System.getProperty("os.name"), System.getProperty("os.arch"));
  }

  static Machine look(String system, String processor, boolean isNativeAccessEnabled) {
    if (isForeign(system, processor)) {
      return refused("it needs Linux on x86-64, this is " + system + " on " + processor);
    }
    if (!isNativeAccessEnabled) {
      return refused("start java with " + NativeAccess.option(Machine.class));
    }
    try (InputStream cpus = new FileInputStream(CPU_INFO)) {
      return of(new String(cpus.readNBytes(ENOUGH), StandardCharsets.ISO_8859_1));
    } catch (IOException e) {
      return refused(CPU_INFO + " cannot be read: " + e.getMessage());
    }
  }

  private static Machine refused(String reason) {
    return new Machine(Set.of(), reason);
  }

  /**
   * Judges a processor by the system's account of it, which leaves out states that it does not
   * keep.
   */
  static Machine of(String account) {
    int start = account.indexOf("\nflags");
    int end = account.indexOf('\n', start + 1);
    if (start < 0 || end < 0) {
      return refused(CPU_INFO + " names no flags");
    }
    String flags = account.substring(start, end) + ' ';
    if (!has(flags, "avx2", "fma")) {
      return refused("this processor lacks AVX2 or FMA, or the system does not keep their state");
    }
    Set<Level> levels = EnumSet.of(Level.AVX2);
    if (has(flags, "avx_vnni")) {
      levels.add(Level.AVX_VNNI);
    }
    if (has(flags, "avx512f", "avx512dq", "avx512bw", "avx512vl")) {
      levels.add(Level.AVX512);
      if (has(flags, "avx512_vnni")) {
        levels.add(Level.AVX512_VNNI);
      }
    }
    return new Machine(Collections.unmodifiableSet(levels), "");
  }

  private static boolean has(String flags, String... names) {
    for (String name : names) {
      if (!flags.contains(' ' + name + ' ')) {
        return false;
      }
    }
    return true;
  }
}
