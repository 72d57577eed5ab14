// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import io.thalamus.memory.NativeAccess;
import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Condition;
import io.thalamus.x86.asm.Gpr;
import io.thalamus.x86.asm.Label;
import io.thalamus.x86.asm.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * The instructions that this machine allows. Immutable.
 *
 * @param levels that processor and system have; empty where the device cannot run at all
 * @param reason one line for people; empty where it can
 */
public record Machine(Set<Level> levels, String reason) {
  private static final int OSXSAVE_AVX_FMA = 1 << 27 | 1 << 28 | 1 << 12;
  private static final int AVX2 = 1 << 5;
  private static final int AVX512_F_DQ_BW_VL = 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31;
  private static final int AVX512_VNNI = 1 << 11;
  private static final int AVX_VNNI = 1 << 4;
  private static final int YMM_STATE = 0x06;
  private static final int ZMM_STATE = 0xE6;

  /** The facts of a processor in the order that {@link #identify} stores them. */
  private enum Fact {
    /** The register ecx of leaf 1. */
    FEATURES,
    /** The register ebx of leaf 7. */
    EXTENDED,
    /** The register ecx of leaf 7. */
    FURTHER,
    /** The register eax of leaf 7, 1. */
    LATEST,
    /** The states of registers that the system keeps. */
    STATES
  }

  /** A machine held to one level. */
  public static Machine of(Level level) {
    return new Machine(Set.of(level), "");
  }

  /** Returns the fastest level; empty where the device cannot run at all. */
  public Optional<Level> best() {
    return levels.stream().max(Comparator.naturalOrder());
  }

  /** Looks at this machine: every refusal is a reason, never an exception. */
  public static Machine probe() {
    return probe(
        System.getProperty("os.name"),
        System.getProperty("os.arch"),
        Machine.class.getModule().isNativeAccessEnabled());
  }

  private static boolean isForeign(String system, String processor) {
    return !system.equals("Linux")
        || !List.of("amd64", "x86_64").contains(processor.toLowerCase(Locale.ROOT));
  }

  /** Returns whether the device is not made for this system or processor at all. */
  public static boolean isForeign() {
    return isForeign(System.getProperty("os.name"), System.getProperty("os.arch"));
  }

  static Machine probe(String system, String processor, boolean isNativeAccessEnabled) {
    if (isForeign(system, processor)) {
      return refused("it needs Linux on x86-64, this is " + system + " on " + processor);
    }
    if (!isNativeAccessEnabled) {
      return refused("start java with " + NativeAccess.option(Machine.class));
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
    return new Machine(Set.of(), reason);
  }

  private static Machine ask(ExecutableMemory code) {
    int[] facts = new int[Fact.values().length];
    try (code;
        Arena arena = Arena.ofConfined()) {
      MemorySegment words = arena.allocate(facts.length * (long) Long.BYTES, Long.BYTES);
      SystemCalls.call(code.at(0), words.address(), 0, 0, 0, 0, 0);
      for (int i = 0; i < facts.length; i++) {
        facts[i] = (int) words.getAtIndex(ValueLayout.JAVA_LONG, i);
      }
      SystemCalls.customize();
    }
    return of(facts);
  }

  /** Judges a processor by its facts. */
  static Machine of(int... facts) {
    int extended = facts[Fact.EXTENDED.ordinal()];
    int states = facts[Fact.STATES.ordinal()];
    if ((facts[Fact.FEATURES.ordinal()] & OSXSAVE_AVX_FMA) != OSXSAVE_AVX_FMA
        || (extended & AVX2) == 0
        || (states & YMM_STATE) != YMM_STATE) {
      return refused("this processor lacks AVX2 or FMA, or the system does not keep their state");
    }
    Set<Level> levels = EnumSet.of(Level.AVX2);
    if ((facts[Fact.LATEST.ordinal()] & AVX_VNNI) != 0) {
      levels.add(Level.AVX_VNNI);
    }
    if ((extended & AVX512_F_DQ_BW_VL) == AVX512_F_DQ_BW_VL && (states & ZMM_STATE) == ZMM_STATE) {
      levels.add(Level.AVX512);
      if ((facts[Fact.FURTHER.ordinal()] & AVX512_VNNI) != 0) {
        levels.add(Level.AVX512_VNNI);
      }
    }
    return new Machine(Collections.unmodifiableSet(levels), "");
  }

  /** A function that stores the facts, as far as each exists. */
  private static byte[] identify() {
    Assembler a = new Assembler();
    Label end = new Label();
    a.push(Gpr.RBX);
    a.mov(Gpr.RAX, 0);
    a.cpuid();
    a.mov(Gpr.R9, Gpr.RAX);
    a.mov(Gpr.RAX, 1);
    a.cpuid();
    a.store(place(Fact.FEATURES), Gpr.RCX);
    a.emit(Alu.AND, Gpr.RCX, 1 << 27);
    a.jump(Condition.EQUAL, end);
    a.mov(Gpr.RCX, 0);
    a.xgetbv();
    a.store(place(Fact.STATES), Gpr.RAX);
    a.emit(Alu.CMP, Gpr.R9, 7);
    a.jump(Condition.LESS, end);
    a.mov(Gpr.RAX, 7);
    a.mov(Gpr.RCX, 0);
    a.cpuid();
    a.store(place(Fact.EXTENDED), Gpr.RBX);
    a.store(place(Fact.FURTHER), Gpr.RCX);
    // The first leaf says how many there are.
    a.emit(Alu.CMP, Gpr.RAX, 1);
    a.jump(Condition.LESS, end);
    a.mov(Gpr.RAX, 7);
    a.mov(Gpr.RCX, 1);
    a.cpuid();
    a.store(place(Fact.LATEST), Gpr.RAX);
    a.bind(end);
    a.pop(Gpr.RBX);
    a.ret();
    return a.finish();
  }

  private static Address place(Fact fact) {
    return Address.at(Gpr.RDI, fact.ordinal() * Long.BYTES);
  }
}
