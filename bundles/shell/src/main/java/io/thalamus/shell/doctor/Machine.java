// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;

/** The processors as Linux tells of them; elsewhere nothing is known. Stateless. */
final class Machine {
  private static final Path CPU_INFO = Path.of("/proc/cpuinfo");

  private Machine() {}

  /** Returns their number, also of those that this process may not use. */
  static OptionalInt processors() {
    int count = (int) lines().stream().filter(line -> line.startsWith("processor\t")).count();
    return count == 0 ? OptionalInt.empty() : OptionalInt.of(count);
  }

  /** The bits of the longest vectors that they have. */
  static OptionalInt vectorBits() {
    return lines().stream()
        .filter(line -> line.startsWith("flags"))
        .map(
            line ->
                Set.copyOf(
                    Arrays.asList(line.substring(line.indexOf(':') + 1).strip().split(" +"))))
        .mapToInt(Machine::bits)
        .findFirst();
  }

  private static int bits(Set<String> flags) {
    if (flags.contains("avx512f") && flags.contains("avx512bw")) {
      return 512;
    }
    return flags.contains("avx2") ? 256 : 128;
  }

  private static List<String> lines() {
    try {
      return Files.readAllLines(CPU_INFO);
    } catch (IOException notLinux) {
      return List.of();
    }
  }
}
