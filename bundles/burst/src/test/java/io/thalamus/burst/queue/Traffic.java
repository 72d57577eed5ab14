// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Messages of longs that count up, of random lengths that both sides know by the seed, some written
 * and read in place. Immutable.
 */
record Traffic(long seed, int messages, int largest, long pollNanos) {
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(100);

  void write(MessageQueue queue) {
    SplittableRandom random = new SplittableRandom(seed);
    MemorySegment message = MemorySegment.ofArray(new long[largest]);
    long next = 0;
    for (int i = 0; i < messages; i++) {
      int count = 1 + random.nextInt(largest);
      assertTrue(queue.awaitWritable(count, pollNanos, PATIENCE), "message " + i);
      if (random.nextBoolean()) {
        for (int k = 0; k < count; k++) {
          message.setAtIndex(LONG, k, next++);
        }
        assertTrue(queue.write(message, count));
      } else {
        assertTrue(queue.beginWrite(count));
        for (int k = 0; k < count; k++) {
          queue.segment().set(LONG, queue.offset(k), next++);
        }
        queue.commitWrite(count);
      }
    }
  }

  void read(MessageQueue queue) {
    SplittableRandom random = new SplittableRandom(seed);
    MemorySegment message = MemorySegment.ofArray(new long[largest]);
    long next = 0;
    for (int i = 0; i < messages; i++) {
      int count = 1 + random.nextInt(largest);
      assertTrue(queue.awaitReadable(count, pollNanos, PATIENCE), "message " + i);
      if (random.nextBoolean()) {
        assertTrue(queue.read(message, count));
        for (int k = 0; k < count; k++) {
          assertEquals(next++, message.getAtIndex(LONG, k));
        }
      } else {
        assertTrue(queue.beginRead(count));
        for (int k = 0; k < count; k++) {
          assertEquals(next++, queue.segment().get(LONG, queue.readOffset(k)));
        }
        queue.commitRead(count);
      }
    }
  }
}
