// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryHandle;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnsynchronizedQueueTest {
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

  private static MemorySegment longs(long... values) {
    return MemorySegment.ofArray(values);
  }

  @Test
  void everyReaderReadsAll() {
    try (UnsynchronizedQueue queue = UnsynchronizedQueue.allocate(4, 8)) {
      UnsynchronizedQueue.Reader one = queue.reader();
      queue.write(longs(1, 2), 2);
      UnsynchronizedQueue.Reader late = queue.reader();
      queue.write(longs(3), 1);
      long[] read = new long[2];
      assertTrue(one.read(MemorySegment.ofArray(read), 2));
      assertEquals(List.of(1L, 2L), List.of(read[0], read[1]));
      assertFalse(one.read(MemorySegment.ofArray(read), 2));
      assertEquals(1, one.available());
      assertTrue(one.read(MemorySegment.ofArray(read), 1));
      assertEquals(3, read[0]);
      assertTrue(late.read(MemorySegment.ofArray(read), 1));
      assertEquals(3, read[0]);
      assertEquals(0, one.lost() + late.lost());
    }
  }

  /** At the very border: capacity elements behind nothing is lost, one more and all that is old. */
  @ParameterizedTest
  @CsvSource({"0", "9223372036854775806", "-2"})
  void aSlowReaderGoesOnWithTheNewest(long start) {
    try (UnsynchronizedQueue queue = UnsynchronizedQueue.allocate(3, 8)) {
      queue.memory().segment().set(LONG, 128, start);
      queue.memory().segment().set(LONG, 136, start);
      UnsynchronizedQueue.Reader reader = queue.reader();
      long[] read = new long[2];
      queue.write(longs(1, 2, 3), 3);
      assertEquals(3, reader.available());
      assertTrue(reader.read(MemorySegment.ofArray(read), 1));
      assertEquals(1, read[0]);
      queue.write(longs(4, 5, 6), 3);
      assertEquals(3, reader.available());
      assertTrue(reader.read(MemorySegment.ofArray(read), 2));
      assertEquals(List.of(5L, 6L), List.of(read[0], read[1]));
      assertEquals(3, reader.lost());
      assertFalse(reader.read(MemorySegment.ofArray(read), 1));
    }
  }

  /** Readers without the right to write, and faster and slower ones, see whole messages only. */
  @Test
  void noReaderSeesHalfAMessage() throws Exception {
    int capacity = 12;
    int elements = 4;
    long messages = 300_000;
    List<Future<Long>> ends = new ArrayList<>();
    try (UnsynchronizedQueue queue = UnsynchronizedQueue.allocate(capacity, 16);
        ExecutorService executor = Executors.newThreadPerTaskExecutor(Thread::new)) {
      SharedMemoryHandle handle = queue.memory().describe();
      for (int i = 0; i < 3; i++) {
        int pause = i * 300;
        executor.submit(() -> null).get();
        SharedMemory memory =
            SharedMemory.map(
                new SharedMemoryHandle(handle.kind(), handle.file(), 0, handle.size(), false));
        UnsynchronizedQueue mapped = UnsynchronizedQueue.map(memory, capacity, 16);
        UnsynchronizedQueue.Reader reader = mapped.reader();
        memory.close();
        Callable<Long> task =
            () -> {
              try (mapped) {
                return read(reader, elements, messages, pause);
              }
            };
        ends.add(executor.submit(task));
      }
      MemorySegment message = MemorySegment.ofArray(new long[2 * elements]);
      for (long i = 1; i <= messages; i++) {
        for (int k = 0; k < 2 * elements; k++) {
          message.setAtIndex(LONG, k, i * 1000 + k);
        }
        queue.write(message, elements);
        if (i % 64 == 0) {
          Thread.yield();
        }
      }
      for (Future<Long> end : ends) {
        assertTrue(end.get() > 0, "a reader read nothing");
      }
    }
  }

  /** Returns how many messages came, each after the one before, the last one among them. */
  private static long read(
      UnsynchronizedQueue.Reader reader, int elements, long messages, int pause) {
    MemorySegment message = MemorySegment.ofArray(new long[2 * elements]);
    long count = 0;
    long last = 0;
    while (last < messages) {
      if (!reader.read(message, elements)) {
        Thread.onSpinWait();
        continue;
      }
      long first = message.getAtIndex(LONG, 0);
      assertEquals(0, first % 1000, "the beginning of a message");
      for (int k = 0; k < 2 * elements; k++) {
        assertEquals(first + k, message.getAtIndex(LONG, k), "of one message");
      }
      assertTrue(first / 1000 > last, "in order");
      last = first / 1000;
      count++;
      for (int i = 0; i < pause; i++) {
        Thread.onSpinWait();
      }
    }
    assertEquals(messages, count + reader.lost() / elements, "read or counted as lost");
    return count;
  }

  /** A half-written message is not read, even after another one has gone on. */
  @Test
  void halfAMessageOfADeadWriterIsNotRead() {
    try (UnsynchronizedQueue queue = UnsynchronizedQueue.allocate(4, 8)) {
      UnsynchronizedQueue.Reader reader = queue.reader();
      queue.write(longs(1, 2, 3, 4), 4);
      MemorySegment segment = queue.memory().segment();
      // It had begun to overwrite the first two.
      segment.set(LONG, 136, 6);
      segment.set(LONG, 512, -1);
      assertFalse(reader.read(longs(0, 0), 2));
      queue.write(longs(5), 1);
      long[] read = new long[1];
      for (long value = 3; value <= 5; value++) {
        assertTrue(reader.read(MemorySegment.ofArray(read), 1));
        assertEquals(value, read[0]);
      }
      assertEquals(2, reader.lost());
      UnsynchronizedQueue.Reader fresh = queue.reader();
      queue.write(longs(6, 7), 2);
      assertTrue(fresh.read(MemorySegment.ofArray(read), 1));
      assertEquals(6, read[0]);
    }
  }

  @Test
  void damageIsSaidAndHarmless() {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("seed " + seed);
    SplittableRandom random = new SplittableRandom(seed);
    MemorySegment elements = longs(new long[8]);
    for (int round = 0; round < 5_000; round++) {
      try (UnsynchronizedQueue queue = UnsynchronizedQueue.allocate(5, 8)) {
        UnsynchronizedQueue.Reader reader = queue.reader();
        for (int step = 0; step < 10; step++) {
          long value = random.nextBoolean() ? random.nextLong() : random.nextInt(-9, 9);
          queue.memory().segment().set(LONG, 128 + 8L * random.nextInt(2), value);
          int count = random.nextInt(6);
          switch (random.nextInt(3)) {
            case 0 -> reader.read(elements, count);
            case 1 -> reader.available();
            default -> {
              try {
                queue.write(elements, count);
              } catch (IllegalStateException e) {
                assertTrue(e.getMessage().startsWith("the counters of the queue are damaged"));
              }
            }
          }
        }
      }
    }
  }

  @Test
  void whatCannotBeIsRefused() {
    try (UnsynchronizedQueue queue = UnsynchronizedQueue.allocate(4, 8);
        MessageQueue other = MessageQueue.allocate(4, 8)) {
      assertThrows(IllegalArgumentException.class, () -> queue.write(longs(new long[5]), 5));
      assertThrows(IllegalArgumentException.class, () -> queue.write(longs(), -1));
      UnsynchronizedQueue.Reader reader = queue.reader();
      assertThrows(IllegalArgumentException.class, () -> reader.read(longs(new long[5]), 5));
      assertThrows(
          IllegalArgumentException.class, () -> UnsynchronizedQueue.map(other.memory(), 4, 8));
      assertThrows(
          IllegalArgumentException.class, () -> UnsynchronizedQueue.map(queue.memory(), 5, 8));
    }
  }

  @Test
  void aClosedQueueTransfersNothing() {
    UnsynchronizedQueue queue = UnsynchronizedQueue.allocate(4, 8);
    UnsynchronizedQueue.Reader reader = queue.reader();
    queue.close();
    queue.close();
    assertThrows(IllegalStateException.class, () -> queue.write(longs(1), 1));
    assertThrows(IllegalStateException.class, () -> reader.read(longs(1), 1));
  }
}
