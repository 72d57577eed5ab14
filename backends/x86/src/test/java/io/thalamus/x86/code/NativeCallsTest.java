// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.x86.asm.Address;
import io.thalamus.x86.asm.Alu;
import io.thalamus.x86.asm.Assembler;
import io.thalamus.x86.asm.Gpr;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Both ways of native calls: the shared object that is emitted, and the JVM's linker. */
class NativeCallsTest {
  private static final long GETPID = 39;
  private static final long MUNMAP = 11;

  /** In the order of System V's calling convention; the last two are on the stack. */
  private static final List<Gpr> REGISTERS =
      List.of(Gpr.RDI, Gpr.RSI, Gpr.RDX, Gpr.RCX, Gpr.R8, Gpr.R9);

  private static final int[] FACTORS = {2, 3, 5, 7, 11, 13, 17, 19};

  @TempDir Path directory;

  @BeforeEach
  void machine() {
    assumeTrue(Machine.probe().best().isPresent(), () -> Machine.probe().reason());
  }

  @Test
  void everyArgumentReachesItsPlaceAsWholeNumbers() {
    long[] n = new long[FACTORS.length];
    long sum = 0;
    for (int i = 0; i < n.length; i++) {
      n[i] = 0x8123_4567_89AB_CDEFL >>> i;
      sum += n[i] * FACTORS[i];
    }
    try (ExecutableMemory code = ExecutableMemory.of(weightedSum()).orElseThrow()) {
      long at = code.at(0).address();
      long called = NativeCalls.call(at, n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
      assertEquals(sum, called);
      long linked = NativeCalls.Linked.call(at, n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
      assertEquals(sum, linked);
    }
  }

  private static byte[] weightedSum() {
    Assembler code = new Assembler();
    code.mov(Gpr.RAX, 0);
    for (int i = 0; i < FACTORS.length; i++) {
      if (i < REGISTERS.size()) {
        code.imul(Gpr.R11, REGISTERS.get(i), FACTORS[i]);
      } else {
        code.load(Gpr.R11, Address.at(Gpr.RSP, (i - REGISTERS.size() + 1) * Long.BYTES));
        code.imul(Gpr.R11, Gpr.R11, FACTORS[i]);
      }
      code.emit(Alu.ADD, Gpr.RAX, Gpr.R11);
    }
    code.ret();
    return code.finish();
  }

  @Test
  void theSystemAnswersAndRefuses() {
    long process = ProcessHandle.current().pid();
    assertEquals(process, NativeCalls.system(GETPID, 0, 0, 0, 0, 0, 0));
    assertEquals(process, NativeCalls.Linked.system(GETPID, 0, 0, 0, 0, 0, 0));
    // Of an address that begins no page.
    assertTrue(NativeCalls.system(MUNMAP, 1, 4096, 0, 0, 0, 0) < 0);
    assertTrue(NativeCalls.Linked.system(MUNMAP, 1, 4096, 0, 0, 0, 0) < 0);
  }

  @Test
  void theSharedObjectLeavesNoFile() {
    assertTrue(NativeCalls.isLoaded(directory));
    assertArrayEquals(new String[0], directory.toFile().list());
    assertFalse(NativeCalls.isLoaded(directory.resolve("missing")));
  }
}
