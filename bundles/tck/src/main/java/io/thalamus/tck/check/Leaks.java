// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A search for things that calls leave behind. Others work in the same process, so that a fault is
 * one only if it shows each of several times.
 */
public final class Leaks {
  private static final int TIMES = 4;
  private static final int WAITS = 20;
  private static final int WAIT_MILLIS = 20;

  /** Linux alone has it: a line for each mapping of the process. */
  private static final Path MAPPINGS = Path.of("/proc/self/maps");

  private Leaks() {}

  /** Something that the process has, and that calls may leave behind. */
  @FunctionalInterface
  private interface Count {
    int since(Set<Thread> threads, int mappings) throws IOException;
  }

  /** Expects that fewer threads stay than half as many as calls were made. */
  public static void threads(int calls, Check.Body call) throws Exception {
    expectFew(calls, call, "threads", (threads, _) -> newThreads(threads));
  }

  /** Expects the same of mappings of memory, where the system tells of them. */
  public static void mappings(int calls, Check.Body call) throws Exception {
    if (!Files.isReadable(MAPPINGS)) {
      throw Expect.skip("this system does not tell the mappings of a process");
    }
    expectFew(calls, call, "mappings", (_, mappings) -> mappings() - mappings);
  }

  private static void expectFew(int calls, Check.Body call, String what, Count count)
      throws Exception {
    int left = 0;
    for (int time = 0; time < TIMES; time++) {
      call.run(); // what stays on purpose begins with the first one
      Set<Thread> threads = Thread.getAllStackTraces().keySet();
      int mappings = Files.isReadable(MAPPINGS) ? mappings() : 0;
      for (int i = 0; i < calls; i++) {
        call.run();
      }
      left = count.since(threads, mappings);
      for (int wait = 0; wait < WAITS && left >= calls / 2; wait++) {
        Thread.sleep(WAIT_MILLIS);
        left = count.since(threads, mappings);
      }
      if (left < calls / 2) {
        return;
      }
    }
    throw Expect.failure(left + " " + what + " are left of " + calls + " calls");
  }

  private static int newThreads(Set<Thread> before) {
    Set<Thread> after = new HashSet<>(Thread.getAllStackTraces().keySet());
    after.removeAll(before);
    return after.size();
  }

  private static int mappings() throws IOException {
    try (Stream<String> lines = Files.lines(MAPPINGS)) {
      return (int) lines.count();
    }
  }
}
