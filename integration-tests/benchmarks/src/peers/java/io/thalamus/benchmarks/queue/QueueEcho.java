// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.queue;

import io.thalamus.burst.queue.MessageQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Our queues, with an object for each side. */
final class QueueEcho implements Echo {
  private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG;
  private static final long FOREVER = Long.MAX_VALUE;
  private static final int CAPACITY = 64;

  private final MessageQueue there = MessageQueue.allocate(CAPACITY, BYTES);
  private final MessageQueue thereMapped = MessageQueue.map(there.memory(), CAPACITY, BYTES);
  private final MessageQueue back = MessageQueue.allocate(CAPACITY, BYTES);
  private final MessageQueue backMapped = MessageQueue.map(back.memory(), CAPACITY, BYTES);
  private final Arena arena = Arena.ofShared();
  private final MemorySegment asked = arena.allocate(BYTES, 64);
  private final MemorySegment answered = arena.allocate(BYTES, 64);
  private final long pollNanos;

  QueueEcho(boolean isSpinning) {
    pollNanos = isSpinning ? FOREVER : 0;
  }

  @Override
  public String name() {
    return "thalamus";
  }

  @Override
  public int ask(int count) {
    int wrong = 0;
    for (int i = 0; i < count; i++) {
      for (int k = 0; k < WORDS; k++) {
        asked.setAtIndex(WORD, k, i + k);
      }
      send(there, asked);
      receive(backMapped, asked);
      for (int k = 0; k < WORDS; k++) {
        wrong += asked.getAtIndex(WORD, k) == i + k ? 0 : 1;
      }
    }
    return wrong;
  }

  @Override
  public void answer(int count) {
    for (int i = 0; i < count; i++) {
      receive(thereMapped, answered);
      send(back, answered);
    }
  }

  private static void send(MessageQueue queue, MemorySegment message) {
    if (!queue.write(message, 1)) {
      throw new IllegalStateException("no room for one message");
    }
  }

  private void receive(MessageQueue queue, MemorySegment message) {
    if (!queue.awaitReadable(1, pollNanos, FOREVER) || !queue.read(message, 1)) {
      throw new IllegalStateException("no message");
    }
  }

  @Override
  public void close() {
    thereMapped.close();
    there.close();
    backMapped.close();
    back.close();
    arena.close();
  }
}
