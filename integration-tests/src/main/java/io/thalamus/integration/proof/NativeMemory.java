// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.management.JMException;

/**
 * What the process holds outside the heap, asked of the virtual machine and of Linux. A value of
 * the moment it was taken.
 *
 * @param arenaBytes memory of arenas and buffers, by native memory tracking; empty where the JVM
 *     was started without {@code -XX:NativeMemoryTracking=summary}
 * @param threads platform threads
 * @param openFiles open file descriptors; 0 where the system does not tell
 */
record NativeMemory(OptionalLong arenaBytes, int threads, long openFiles) {
  /** The line of what {@code Unsafe} allocates, which arenas do by. */
  private static final Pattern OTHER =
      Pattern.compile("Other \\(reserved=\\d+, committed=(\\d+)\\)");

  static NativeMemory now() throws JMException, IOException {
    System.gc();
    Matcher other = OTHER.matcher(HeapCheck.command("vmNativeMemory", "summary", "scale=b"));
    OptionalLong arenas =
        other.find() ? OptionalLong.of(Long.parseLong(other.group(1))) : OptionalLong.empty();
    return new NativeMemory(arenas, Thread.getAllStackTraces().size(), countOpenFiles());
  }

  private static long countOpenFiles() throws IOException {
    Path folder = Path.of("/proc/self/fd");
    if (!Files.isDirectory(folder)) {
      return 0;
    }
    try (Stream<Path> files = Files.list(folder)) {
      return files.count();
    }
  }
}
