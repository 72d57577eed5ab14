// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.x86.asm.Level;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Pages of code by the system's own account, and machines that cannot run the device. */
class ExecutableMemoryTest {
  @Test
  void pagesAreWritableOrExecutableAndGoneInTheEnd() throws IOException {
    assumeTrue(Machine.probe().best().isPresent(), () -> Machine.probe().reason());
    long fresh = SystemCalls.map(4096);
    assertEquals("rw-p", rights(fresh));
    SystemCalls.unmap(fresh, 4096);
    byte[] bytes = new byte[64];
    new Random(fresh).nextBytes(bytes);
    bytes[0] = (byte) 0xC3;
    ExecutableMemory code = ExecutableMemory.of(bytes).orElseThrow();
    long address = code.at(0).address();
    SystemCalls.call(code.at(0), 0, 0, 0, 0, 0, 0);
    assertEquals("r-xp", rights(address));
    assertTrue(holds(address, bytes));
    code.close();
    code.close();
    assertFalse(holds(address, bytes), "the page is still mapped");
  }

  /** Returns whether these bytes are in memory. Other threads may have mapped theirs there. */
  private static boolean holds(long address, byte[] bytes) {
    try (RandomAccessFile memory = new RandomAccessFile("/proc/self/mem", "r")) {
      memory.seek(address);
      byte[] found = new byte[bytes.length];
      memory.readFully(found);
      return Arrays.equals(bytes, found);
    } catch (IOException notMapped) {
      return false;
    }
  }

  /** The rights that the system says a page has; empty where it is not mapped. */
  private static String rights(long address) throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
      String[] words = line.split("[- ]", 3);
      if (Long.parseUnsignedLong(words[0], 16) <= address
          && address < Long.parseUnsignedLong(words[1], 16)) {
        return words[2].substring(0, 4);
      }
    }
    return "";
  }

  @Test
  void machinesThatCannotRunItAreRefusedWithAReason() {
    assertEquals(
        "it needs Linux on x86-64, this is Linux on aarch64",
        Machine.look("Linux", "aarch64", true).reason());
    assertEquals(
        "it needs Linux on x86-64, this is Mac OS X on x86_64",
        Machine.look("Mac OS X", "x86_64", true).reason());
    assertEquals(
        "start java with --enable-native-access=ALL-UNNAMED",
        Machine.look("Linux", "amd64", false).reason());
    String lacks = "this processor lacks AVX2 or FMA, or the system does not keep their state";
    assertEquals(lacks, machine("avx avx512f").reason());
    assertEquals(lacks, machine("avx2 fma4").reason());
    assertEquals(lacks, machine("fma xavx2 avx2x").reason());
    assertEquals("/proc/cpuinfo names no flags", Machine.of("processor\t: 0\n").reason());
    assertEquals("/proc/cpuinfo names no flags", Machine.of("\nflags\t: avx2 fm").reason());
  }

  /** A machine by what Linux says of its first processor. */
  private static Machine machine(String flags) {
    return Machine.of("processor\t: 0\nflags\t\t: fpu " + flags + "\nbugs\t\t: avx512f\n");
  }

  @Test
  void levelsAreThoseOfProcessorAndSystem() {
    String both = "avx2 fma ";
    String avx512 = both + "avx512f avx512dq avx512cd avx512bw avx512vl ";
    assertEquals(Set.of(Level.AVX2), machine(both).levels());
    assertEquals(Set.of(Level.AVX2), machine(both + "avx512f avx512dq avx512bw").levels());
    assertEquals(Set.of(Level.AVX2, Level.AVX_VNNI), machine(both + "avx_vnni").levels());
    assertEquals(Set.of(Level.AVX2, Level.AVX512), machine(avx512).levels());
    assertEquals(EnumSet.allOf(Level.class), machine(avx512 + "avx_vnni avx512_vnni").levels());
    assertEquals(Level.AVX512_VNNI, machine(avx512 + "avx512_vnni").best().orElseThrow());
  }
}
