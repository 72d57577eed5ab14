// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Condition;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Length;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Locale;
import java.util.Optional;

/**
 * What this machine allows. Immutable.
 *
 * @param longest vectors that processor and system have; empty where the device cannot run at all
 * @param reason one line for people; empty where it can
 */
public record Machine(Optional<Length> longest, String reason) {
  private static final int OSXSAVE_AVX_FMA = 1 << 27 | 1 << 28 | 1 << 12;
  private static final int AVX2 = 1 << 5;
  private static final int AVX512_F_DQ_BW_VL = 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31;
  private static final int YMM_STATE = 0x06;
  private static final int ZMM_STATE = 0xE6;

  /** Looks at this machine: every refusal is a reason, never an exception. */
  public static Machine probe() {
    return probe(
        System.getProperty("os.name"),
        System.getProperty("os.arch"),
        Machine.class.getModule().isNativeAccessEnabled());
  }

  static Machine probe(String system, String processor, boolean isNativeAccessEnabled) {
    String architecture = processor.toLowerCase(Locale.ROOT);
    if (!system.equals("Linux")
        || !(architecture.equals("amd64") || architecture.equals("x86_64"))) {
      return refused("it needs Linux on x86-64, this is " + system + " on " + processor);
    }
    if (!isNativeAccessEnabled) {
      return refused("start java with --enable-native-access=ALL-UNNAMED");
    }
    try {
      return ExecutableMemory.of(identify())
          .map(Machine::ask)
          .orElseGet(() -> refused("this system refuses memory for code"));
    } catch (ExceptionInInitializerError e) {
      return refused("the C library cannot be linked: " + e.getCause());
    }
  }

  private static Machine refused(String reason) {
    return new Machine(Optional.empty(), reason);
  }

  private static Machine ask(ExecutableMemory code) {
    int[] facts = new int[3];
    try (code;
        Arena arena = Arena.ofConfined()) {
      MemorySegment words = arena.allocate(3L * Long.BYTES, Long.BYTES);
      SystemCalls.call(code.at(0), words.address(), 0, 0, 0, 0, 0);
      for (int i = 0; i < facts.length; i++) {
        facts[i] = (int) words.getAtIndex(ValueLayout.JAVA_LONG, i);
      }
    }
    return of(facts[0], facts[1], facts[2]);
  }

  /**
   * Judges a processor.
   *
   * @param features ecx of leaf 1
   * @param extended ebx of leaf 7
   * @param states of registers that the system keeps
   */
  static Machine of(int features, int extended, int states) {
    if ((features & OSXSAVE_AVX_FMA) != OSXSAVE_AVX_FMA
        || (extended & AVX2) == 0
        || (states & YMM_STATE) != YMM_STATE) {
      return refused("this processor lacks AVX2 or FMA, or the system does not keep their state");
    }
    boolean isLong =
        (extended & AVX512_F_DQ_BW_VL) == AVX512_F_DQ_BW_VL && (states & ZMM_STATE) == ZMM_STATE;
    return new Machine(Optional.of(isLong ? Length.ZMM : Length.YMM), "");
  }

  /** A function that stores ecx of leaf 1, ebx of leaf 7 and XCR0, as far as each exists. */
  private static byte[] identify() {
    Assembler a = new Assembler();
    Label end = new Label();
    a.push(Gpr.RBX);
    a.mov(Gpr.RAX, 0);
    a.cpuid();
    a.mov(Gpr.R9, Gpr.RAX);
    a.mov(Gpr.RAX, 1);
    a.cpuid();
    a.store(Address.at(Gpr.RDI, 0), Gpr.RCX);
    a.emit(Alu.AND, Gpr.RCX, 1 << 27);
    a.jump(Condition.EQUAL, end);
    a.mov(Gpr.RCX, 0);
    a.xgetbv();
    a.store(Address.at(Gpr.RDI, 16), Gpr.RAX);
    a.emit(Alu.CMP, Gpr.R9, 7);
    a.jump(Condition.LESS, end);
    a.mov(Gpr.RAX, 7);
    a.mov(Gpr.RCX, 0);
    a.cpuid();
    a.store(Address.at(Gpr.RDI, 8), Gpr.RBX);
    a.bind(end);
    a.pop(Gpr.RBX);
    a.ret();
    return a.finish();
  }
}
