// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.code;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.x86.asm.Level;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
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
    ExecutableMemory code = ExecutableMemory.of(new byte[] {(byte) 0xC3}).orElseThrow();
    long address = code.at(0).address();
    SystemCalls.call(code.at(0), 0, 0, 0, 0, 0, 0);
    assertEquals("r-xp", rights(address));
    code.close();
    code.close();
    assertTrue(!rights(address).contains("x"), () -> "the page is still executable");
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
        Machine.probe("Linux", "aarch64", true).reason());
    assertEquals(
        "it needs Linux on x86-64, this is Mac OS X on x86_64",
        Machine.probe("Mac OS X", "x86_64", true).reason());
    assertEquals(
        "start java with --enable-native-access=ALL-UNNAMED",
        Machine.probe("Linux", "amd64", false).reason());
    String lacks = "this processor lacks AVX2 or FMA, or the system does not keep their state";
    assertEquals(lacks, Machine.of(0, 0, 0, 0, 0).reason());
    assertEquals(lacks, Machine.of(-1, ~(1 << 5), -1, -1, -1).reason());
    assertEquals(lacks, Machine.of(-1, -1, -1, -1, 3).reason());
  }

  @Test
  void levelsAreThoseOfProcessorAndSystem() {
    assertEquals(Set.of(Level.AVX2), Machine.of(-1, -1, -1, 0, 7).levels());
    assertEquals(Set.of(Level.AVX2, Level.AVX_VNNI), Machine.of(-1, -1, -1, -1, 7).levels());
    assertEquals(Set.of(Level.AVX2, Level.AVX512), Machine.of(-1, -1, 0, 0, 0xE7).levels());
    assertEquals(EnumSet.allOf(Level.class), Machine.of(-1, -1, -1, -1, 0xE7).levels());
    assertEquals(Level.AVX512_VNNI, Machine.of(-1, -1, 1 << 11, 0, 0xE7).best().orElseThrow());
  }
}
