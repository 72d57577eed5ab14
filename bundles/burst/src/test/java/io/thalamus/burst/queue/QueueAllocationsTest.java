// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Transfers and waits, polling or sleeping, allocate nothing. */
class QueueAllocationsTest {
  private static final long NEVER = Long.MAX_VALUE;
  private static final int WARM_UP = 30_000;
  private static final int MESSAGES = 30_000;

  /**
   * The bytes that the compiler of the virtual machine may still take on the thread, all in all.
   */
  private static final long SOME_BYTES = MESSAGES;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @ParameterizedTest
  @ValueSource(longs = {0, 50_000})
  @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void nothingIsAllocated(long pollNanos) {
    try (MessageQueue there = MessageQueue.allocate(4, 8);
        MessageQueue back = MessageQueue.allocate(4, 8);
        Arena arena = Arena.ofShared()) {
      long[] echoed = new long[1];
      Thread echo =
          Thread.ofPlatform()
              .start(
                  () -> {
                    MemorySegment message = arena.allocate(ValueLayout.JAVA_LONG);
                    for (int i = 0; i < WARM_UP; i++) {
                      echo(there, back, message, pollNanos);
                    }
                    long before = THREADS.getCurrentThreadAllocatedBytes();
                    for (int i = 0; i < MESSAGES; i++) {
                      echo(there, back, message, pollNanos);
                    }
                    echoed[0] = THREADS.getCurrentThreadAllocatedBytes() - before;
                  });
      MemorySegment message = arena.allocate(ValueLayout.JAVA_LONG);
      for (int i = 0; i < WARM_UP; i++) {
        ask(there, back, message, pollNanos);
      }
      long before = THREADS.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < MESSAGES; i++) {
        ask(there, back, message, pollNanos);
      }
      long asked = THREADS.getCurrentThreadAllocatedBytes() - before;
      join(echo);
      System.out.println(
          "bytes allocated by %d round trips: %d, %d".formatted(MESSAGES, asked, echoed[0]));
      assertTrue(asked < SOME_BYTES && echoed[0] < SOME_BYTES, asked + " and " + echoed[0]);
    }
  }

  private static void echo(MessageQueue in, MessageQueue out, MemorySegment message, long poll) {
    assertTrue(in.awaitReadable(1, poll, NEVER) && in.read(message, 1));
    assertTrue(out.write(message, 1));
  }

  private static void ask(MessageQueue out, MessageQueue in, MemorySegment message, long poll) {
    assertTrue(out.write(message, 1));
    assertTrue(in.awaitReadable(1, poll, NEVER) && in.read(message, 1));
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
