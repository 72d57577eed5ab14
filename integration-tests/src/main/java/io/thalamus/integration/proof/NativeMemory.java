// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.management.JMException;

/**
 * The resources of the process outside the heap, asked of the virtual machine and of Linux. A value
 * of the moment it was taken.
 *
 * @param arenaBytes memory of arenas and buffers, by native memory tracking; empty where the JVM
 *     was started without {@code -XX:NativeMemoryTracking=summary}
 * @param threads platform threads
 * @param openFiles the open files by name, one as often as it is open, without pipes and sockets:
 *     those belong to processes that anybody may have started; empty where the system does not tell
 */
record NativeMemory(OptionalLong arenaBytes, int threads, List<String> openFiles) {
  /** The line of what {@code Unsafe} allocates, which arenas do by. */
  private static final Pattern OTHER =
      Pattern.compile("Other \\(reserved=\\d+, committed=(\\d+)\\)");

  private static final String RUNTIME_LOCK = "/io.thalamus.runtime/lock";

  static NativeMemory now() throws JMException, IOException {
    System.gc();
    Matcher other = OTHER.matcher(HeapCheck.command("vmNativeMemory", "summary", "scale=b"));
    OptionalLong arenas =
        other.find() ? OptionalLong.of(Long.parseLong(other.group(1))) : OptionalLong.empty();
    return new NativeMemory(arenas, Thread.getAllStackTraces().size(), filesOpen());
  }

  private static List<String> filesOpen() throws IOException {
    Path folder = Path.of("/proc/self/fd");
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .map(NativeMemory::target)
          .filter(target -> target.startsWith("/") && !target.startsWith("/proc/"))
          .sorted()
          .toList();
    }
  }

  private static String target(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString();
    } catch (IOException e) {
      // Closed by another thread since it was listed.
      return "";
    }
  }

  /**
   * Returns the files that are open now, and were not at an earlier moment. The runtime's caching
   * engine opens its lock, once, when it first stores something, for as long as it lives: that one
   * is left out.
   */
  List<String> openedSince(NativeMemory before) {
    List<String> opened = new ArrayList<>(openFiles);
    before.openFiles.forEach(opened::remove);
    opened.removeIf(
        file -> file.endsWith(RUNTIME_LOCK) && Collections.frequency(openFiles, file) == 1);
    return opened;
  }

  @Override
  public String toString() {
    return "NativeMemory[arenaBytes=%s, threads=%d, openFiles=%d]"
        .formatted(arenaBytes, threads, openFiles.size());
  }
}
