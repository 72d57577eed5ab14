// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.burst.JavaProcess;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Queues between two processes. */
class QueueProcessesTest {
  private static final int CAPACITY = 6;

  /** Window of both sides, and whether the other process may make native calls. */
  @ParameterizedTest
  @CsvSource({"0, true, 20000", "50000, true, 20000", "0, false, 50", "50000, false, 100"})
  @Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void messagesCrossWholeAndInOrder(long pollNanos, boolean isNative, int messages)
      throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("seed " + seed);
    try (MessageQueue there = MessageQueue.allocate(CAPACITY, 8);
        MessageQueue back = MessageQueue.allocate(CAPACITY, 8)) {
      Process child =
          JavaProcess.of(
                  JavaProcess.nativeAccess(isNative),
                  Child.class,
                  there.memory().describe().file(),
                  back.memory().describe().file(),
                  there.memory().size(),
                  seed,
                  messages,
                  pollNanos)
              .redirectErrorStream(true)
              .start();
      Traffic traffic = new Traffic(seed, messages, CAPACITY, pollNanos);
      Thread writer = Thread.ofPlatform().daemon().start(() -> traffic.write(there));
      traffic.read(back);
      String output = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertTrue(child.waitFor(60, TimeUnit.SECONDS));
      writer.join();
      assertEquals("", output);
      assertEquals(0, child.exitValue());
    }
  }

  /** The other process: reads one queue and writes as much to the other one, by two threads. */
  static final class Child {
    public static void main(String[] args) throws InterruptedException {
      long size = Long.parseLong(args[2]);
      try (SharedMemory there = map(args[0], size);
          SharedMemory back = map(args[1], size);
          MessageQueue reader = MessageQueue.map(there, CAPACITY, 8);
          MessageQueue writer = MessageQueue.map(back, CAPACITY, 8)) {
        Traffic traffic =
            new Traffic(
                Long.parseLong(args[3]),
                Integer.parseInt(args[4]),
                CAPACITY,
                Long.parseLong(args[5]));
        Thread thread = Thread.ofPlatform().start(() -> traffic.write(writer));
        traffic.read(reader);
        thread.join();
      }
    }

    private static SharedMemory map(String file, long size) {
      return SharedMemory.map(
          new SharedMemoryHandle(MemoryKind.ASHMEM, Path.of(file), 0, size, true));
    }
  }
}
