// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MessageQueueTest {
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  private static final long WRITTEN = 128;
  private static final long READ = 256;

  /** So long that a test that needs it fails by its own timeout. */
  private static final long NEVER = TimeUnit.HOURS.toNanos(1);

  private static long seed() {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("seed " + seed);
    return seed;
  }

  @Test
  void aQueueHoldsItsCapacity() {
    try (MessageQueue queue = MessageQueue.allocate(3, 8);
        Arena arena = Arena.ofConfined()) {
      MemorySegment elements = arena.allocate(LONG, 4);
      elements.setAtIndex(LONG, 0, 10);
      elements.setAtIndex(LONG, 1, 11);
      assertEquals(3, queue.capacity());
      assertEquals(8, queue.elementSize());
      assertFalse(queue.read(elements, 1));
      assertFalse(queue.write(elements, 4));
      assertTrue(queue.write(elements, 2));
      assertFalse(queue.write(elements, 2));
      assertEquals(2, queue.availableToRead());
      assertEquals(1, queue.availableToWrite());
      assertTrue(queue.write(elements, 1));
      assertFalse(queue.write(elements, 1));
      assertFalse(queue.read(elements, 4));
      elements.fill((byte) 0);
      assertTrue(queue.read(elements, 3));
      assertEquals(10, elements.getAtIndex(LONG, 0));
      assertEquals(11, elements.getAtIndex(LONG, 1));
      assertEquals(10, elements.getAtIndex(LONG, 2));
      assertEquals(0, queue.availableToRead());
      assertThrows(IllegalArgumentException.class, () -> queue.write(elements, -1));
      assertThrows(IllegalArgumentException.class, () -> queue.read(elements, -1));
    }
  }

  /** Random transfers of all kinds beside a list, with counters that overflow on the way. */
  @ParameterizedTest
  @ValueSource(longs = {0, Long.MAX_VALUE - 5_000, -5_000})
  void transfersAreThoseOfAList(long start) {
    SplittableRandom random = new SplittableRandom(seed());
    for (int capacity : new int[] {1, 2, 5, 8, 13, 100}) {
      try (MessageQueue fresh = MessageQueue.allocate(capacity, 8)) {
        fresh.segment().set(LONG, WRITTEN, start);
        fresh.segment().set(LONG, READ, start);
        try (MessageQueue writer = MessageQueue.map(fresh.memory(), capacity, 8);
            MessageQueue reader = MessageQueue.map(fresh.memory(), capacity, 8)) {
          transfer(writer, reader, random);
        }
      }
    }
  }

  private static void transfer(MessageQueue writer, MessageQueue reader, SplittableRandom random) {
    Deque<Long> list = new ArrayDeque<>();
    int capacity = writer.capacity();
    MemorySegment elements = MemorySegment.ofArray(new long[capacity + 2]);
    long next = 0;
    for (int step = 0; step < 20_000; step++) {
      int count = random.nextInt(capacity + 2);
      boolean isInPlace = random.nextBoolean();
      // Of what is begun in place, less may be committed.
      int committed = isInPlace && random.nextBoolean() ? random.nextInt(count + 1) : count;
      if (random.nextBoolean()) {
        boolean hasRoom = list.size() + count <= capacity;
        for (int i = 0; i < count; i++) {
          elements.setAtIndex(LONG, i, next + i);
        }
        if (isInPlace) {
          assertEquals(hasRoom, writer.beginWrite(count));
          for (int i = 0; hasRoom && i < count; i++) {
            writer.segment().set(LONG, writer.offset(i), next + i);
          }
          if (hasRoom) {
            writer.commitWrite(committed);
          }
        } else {
          assertEquals(hasRoom, writer.write(elements, count));
        }
        for (int i = 0; hasRoom && i < committed; i++) {
          list.add(next++);
        }
      } else {
        boolean isThere = list.size() >= count;
        if (isInPlace) {
          assertEquals(isThere, reader.beginRead(count));
          for (int i = 0; isThere && i < count; i++) {
            elements.setAtIndex(LONG, i, reader.segment().get(LONG, reader.readOffset(i)));
          }
          if (isThere) {
            reader.commitRead(committed);
          }
        } else {
          assertEquals(isThere, reader.read(elements, count));
        }
        for (int i = 0; isThere && i < committed; i++) {
          assertEquals(list.remove(), elements.getAtIndex(LONG, i));
        }
      }
      assertEquals(list.size(), reader.availableToRead());
      assertEquals(capacity - list.size(), writer.availableToWrite());
    }
  }

  @Test
  void noMoreIsCommittedThanWasBegun() {
    try (MessageQueue queue = MessageQueue.allocate(4, 8)) {
      assertThrows(IllegalStateException.class, () -> queue.commitWrite(1));
      assertTrue(queue.beginWrite(2));
      assertThrows(IllegalStateException.class, () -> queue.commitWrite(3));
      assertThrows(IllegalStateException.class, () -> queue.commitWrite(-1));
      queue.commitWrite(2);
      assertThrows(IllegalStateException.class, () -> queue.commitWrite(1));
      assertTrue(queue.beginRead(1));
      assertThrows(IllegalStateException.class, () -> queue.commitRead(2));
      assertFalse(queue.beginRead(3));
      assertThrows(IllegalStateException.class, () -> queue.commitRead(1));
    }
  }

  /** Capacity, largest message, window of both sides. */
  @ParameterizedTest
  @CsvSource({"1, 1, 0", "1, 1, 50000", "7, 3, 0", "8, 8, 20000", "1000, 1, 0", "1000, 9, 50000"})
  void messagesCrossWholeAndInOrder(int capacity, int largest, long pollNanos) throws Exception {
    Traffic traffic = new Traffic(seed(), 20_000, largest, pollNanos);
    try (MessageQueue writer = MessageQueue.allocate(capacity, 8);
        MessageQueue reader = MessageQueue.map(writer.memory(), capacity, 8)) {
      CompletableFuture<Void> end = run(() -> traffic.write(writer));
      traffic.read(reader);
      end.get();
      assertEquals(0, reader.availableToRead());
    }
  }

  /** Also by one object for both sides. */
  @Test
  void oneObjectServesBothSides() throws Exception {
    Traffic traffic = new Traffic(seed(), 20_000, 3, 10_000);
    try (MessageQueue queue = MessageQueue.allocate(5, 8)) {
      CompletableFuture<Void> end = run(() -> traffic.write(queue));
      traffic.read(queue);
      end.get();
    }
  }

  @Test
  void waitsEndAtTheirTimeout() {
    try (MessageQueue queue = MessageQueue.allocate(2, 8);
        Arena arena = Arena.ofConfined()) {
      MemorySegment elements = arena.allocate(LONG, 2);
      long start = System.nanoTime();
      assertFalse(queue.awaitReadable(1, 0, 2_000_000));
      assertFalse(queue.awaitReadable(1, 1_000_000, 2_000_000));
      assertFalse(queue.awaitReadable(1, NEVER, 2_000_000));
      assertFalse(queue.readBlocking(elements, 1, 2_000_000));
      assertTrue(queue.writeBlocking(elements, 2, 2_000_000));
      assertFalse(queue.writeBlocking(elements, 1, 2_000_000));
      assertTrue(System.nanoTime() - start >= 10_000_000);
      assertFalse(queue.awaitWritable(1, 0, 0));
      assertTrue(queue.awaitReadable(2, 0, 0));
      assertFalse(queue.awaitReadable(3, 0, NEVER), "more than the queue can ever hold");
      assertFalse(queue.awaitWritable(3, 0, NEVER));
    }
  }

  /** Runs with a waiting side that polls or sleeps, and that reads or writes. */
  @ParameterizedTest
  @CsvSource({"true, 0", "true, 3600000000000", "false, 0", "false, 3600000000000"})
  void anInterruptEndsWaits(boolean isReader, long pollNanos) throws Exception {
    try (MessageQueue queue = MessageQueue.allocate(1, 8)) {
      assertTrue(isReader || queue.write(MemorySegment.ofArray(new long[1]), 1));
      CompletableFuture<Void> end =
          run(
              () ->
                  assertFalse(
                      isReader
                          ? queue.awaitReadable(1, pollNanos, NEVER)
                          : queue.awaitWritable(1, pollNanos, NEVER)));
      Thread.sleep(20);
      queue.interrupt();
      end.get();
      assertFalse(queue.awaitReadable(1, pollNanos, NEVER));
      assertFalse(queue.awaitWritable(1, pollNanos, NEVER));
      // Transfers go on, so that what is there can be read.
      assertEquals(!isReader, queue.read(MemorySegment.ofArray(new long[1]), 1));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 3_600_000_000_000L})
  void closingEndsWaitsAndThenUnmaps(long pollNanos) throws Exception {
    MessageQueue owner = MessageQueue.allocate(1, 8);
    MessageQueue reader = MessageQueue.map(owner.memory(), 1, 8);
    CompletableFuture<Void> end = run(() -> assertFalse(reader.awaitReadable(1, pollNanos, NEVER)));
    Thread.sleep(20);
    owner.close();
    assertFalse(end.isDone(), "the other side is not closed");
    reader.close();
    reader.close();
    end.get();
    assertFalse(reader.awaitReadable(1, pollNanos, NEVER));
    assertThrows(IllegalStateException.class, () -> reader.read(MemorySegment.NULL, 1));
    assertThrows(
        IllegalStateException.class, () -> owner.write(MemorySegment.ofArray(new long[1]), 1));
    assertThrows(IllegalStateException.class, owner.memory()::lend, "all is unmapped");
  }

  @Test
  void aQueueStaysMappedWhenItsMemoryIsClosed() {
    MessageQueue owner = MessageQueue.allocate(4, 8);
    MessageQueue mapped = MessageQueue.map(owner.memory(), 4, 8);
    assertTrue(owner.write(MemorySegment.ofArray(new long[] {5}), 1));
    owner.close();
    long[] element = new long[1];
    assertTrue(mapped.read(MemorySegment.ofArray(element), 1));
    assertEquals(5, element[0]);
    mapped.close();
  }

  @Test
  void memoryThatIsNoSuchQueueIsRefused() {
    try (MessageQueue queue = MessageQueue.allocate(4, 8);
        UnsynchronizedQueue other = UnsynchronizedQueue.allocate(4, 8);
        SharedMemory small = SharedMemory.allocate(MemoryKind.ASHMEM, 100);
        SharedMemory zeros = SharedMemory.allocate(MemoryKind.ASHMEM, 10_000)) {
      SharedMemory memory = queue.memory();
      assertEquals(
          "ashmem[544 bytes] is too small for a queue of 9 elements of 8 bytes, which takes 640",
          refusal(memory, 9, 8));
      assertEquals("the queue has 4 elements of 8 bytes, and not 3 of 8", refusal(memory, 3, 8));
      assertEquals("ashmem[10000 bytes] is no queue of this kind", refusal(zeros, 4, 8));
      assertEquals("ashmem[544 bytes] is no queue of this kind", refusal(other.memory(), 4, 8));
      refusal(small, 1, 1);
      assertEquals("a queue of 0 elements of 8 bytes cannot be", refusal(memory, 0, 8));
      refusal(memory, -1, 8);
      refusal(memory, 4, 0);
      refusal(memory, Integer.MAX_VALUE, Integer.MAX_VALUE);
      memory.segment().set(LONG, WRITTEN, 5);
      assertEquals(
          "the counters of the queue are damaged: 5 written, 0 read, room for 4",
          refusal(memory, 4, 8));
      memory.segment().set(LONG, WRITTEN, -1);
      refusal(memory, 4, 8);
    }
  }

  private static String refusal(SharedMemory memory, int capacity, int elementSize) {
    return assertThrows(
            IllegalArgumentException.class, () -> MessageQueue.map(memory, capacity, elementSize))
        .getMessage();
  }

  /** Another process may write anything at any time: errors are said, and nothing else happens. */
  @Test
  void damageIsSaidAndHarmless() {
    long seed = seed();
    SplittableRandom random = new SplittableRandom(seed);
    MemorySegment elements = MemorySegment.ofArray(new long[8]);
    int said = 0;
    for (int round = 0; round < 3_000; round++) {
      try (MessageQueue owner = MessageQueue.allocate(5, 8);
          MessageQueue queue = MessageQueue.map(owner.memory(), 5, 8)) {
        for (int step = 0; step < 10; step++) {
          long place = 8L * random.nextInt((int) (owner.memory().size() / 8));
          long value = random.nextBoolean() ? random.nextLong() : random.nextInt(-9, 9);
          owner.segment().set(LONG, random.nextBoolean() ? place : WRITTEN + place % 256, value);
          int count = random.nextInt(7);
          try {
            switch (random.nextInt(7)) {
              case 0 -> queue.write(elements, count);
              case 1 -> queue.read(elements, count);
              case 2 -> queue.awaitReadable(count, 0, 10_000);
              case 3 -> queue.awaitWritable(count, 1_000, 10_000);
              case 4 -> queue.availableToRead();
              case 5 -> queue.availableToWrite();
              default -> MessageQueue.map(queue.memory(), 5, 8).close();
            }
          } catch (IllegalStateException | IllegalArgumentException e) {
            assertTrue(e.getMessage().contains("queue"), e.getMessage());
            said++;
          }
        }
      }
    }
    assertTrue(said > 100, "damage was said " + said + " times");
  }

  private static CompletableFuture<Void> run(Runnable task) {
    CompletableFuture<Void> end = new CompletableFuture<>();
    Thread.ofPlatform()
        .daemon()
        .uncaughtExceptionHandler((_, e) -> end.completeExceptionally(e))
        .start(
            () -> {
              task.run();
              end.complete(null);
            });
    return end;
  }
}
