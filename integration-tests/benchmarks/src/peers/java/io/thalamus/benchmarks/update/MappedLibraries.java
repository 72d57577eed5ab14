// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.update;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/**
 * The native libraries of an engine that are mapped into this process. Immutable.
 *
 * @param count different files; one that is mapped from two places counts twice
 * @param bytes of address space
 */
record MappedLibraries(int count, long bytes) {
  /** As Linux tells; nothing elsewhere. */
  static MappedLibraries now(String natives) throws IOException {
    Set<String> files = new HashSet<>();
    long bytes = 0;
    for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
      // address-address rights offset device inode path
      String[] words = line.split("\\s+", 6);
      if (words.length == 6 && words[5].contains(natives) && words[5].contains(".so")) {
        files.add(words[3] + words[4] + words[5]);
        String[] ends = words[0].split("-");
        bytes += Long.parseUnsignedLong(ends[1], 16) - Long.parseUnsignedLong(ends[0], 16);
      }
    }
    return new MappedLibraries(files.size(), bytes);
  }
}
