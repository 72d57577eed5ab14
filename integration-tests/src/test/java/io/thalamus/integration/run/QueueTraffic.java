// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.burst.queue.MessageQueue;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Messages that each say their number and have words that follow from it. Immutable.
 *
 * @param messages how many
 * @param pollNanos how long both sides poll before they sleep
 */
record QueueTraffic(long messages, long pollNanos) {
  static final int MESSAGE_SIZE = 32;

  private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG;

  /** Nobody waits as long where no wake-up is lost. */
  static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

  /**
   * The findings of a reader.
   *
   * @param messages how many came
   * @param lost how many numbers were passed over
   * @param doubled how many numbers came again, or too late
   * @param torn how many had words that do not follow from their number
   * @param waits how often there was nothing to read
   * @param longestWaitNanos the longest of these waits
   */
  record Received(
      long messages, long lost, long doubled, long torn, long waits, long longestWaitNanos) {
    /** Returns the line from which {@link #parse} makes the same. */
    String line() {
      return messages
          + " "
          + lost
          + " "
          + doubled
          + " "
          + torn
          + " "
          + waits
          + " "
          + longestWaitNanos;
    }

    static Received parse(String line) {
      long[] of = Arrays.stream(line.strip().split(" ")).mapToLong(Long::parseLong).toArray();
      return new Received(of[0], of[1], of[2], of[3], of[4], of[5]);
    }
  }

  /** Spreads the bits of a number. */
  private static long mix(long number) {
    long mixed = (number + 1) * 0x9e37_79b9_7f4a_7c15L;
    return mixed ^ mixed >>> 29;
  }

  /** Writes all messages. Returns how often there was no room. */
  long write(MessageQueue queue) {
    MemorySegment segment = queue.segment();
    long waits = 0;
    for (long number = 0; number < messages; number++) {
      if (!queue.beginWrite(1)) {
        waits++;
        if (!queue.awaitWritable(1, pollNanos, PATIENCE_NANOS) || !queue.beginWrite(1)) {
          throw new IllegalStateException("no room for message " + number);
        }
      }
      long at = queue.offset(0);
      long word = mix(number);
      segment.set(WORD, at, number);
      segment.set(WORD, at + 8, word);
      segment.set(WORD, at + 16, ~word);
      segment.set(WORD, at + 24, word + number);
      queue.commitWrite(1);
    }
    return waits;
  }

  /** Reads as many messages as are written, or until none comes any more. */
  Received read(MessageQueue queue) {
    MemorySegment segment = queue.segment();
    long lost = 0;
    long doubled = 0;
    long torn = 0;
    long waits = 0;
    long longest = 0;
    long expected = 0;
    long count = 0;
    for (; count < messages; count++) {
      if (!queue.beginRead(1)) {
        waits++;
        long start = System.nanoTime();
        if (!queue.awaitReadable(1, pollNanos, PATIENCE_NANOS) || !queue.beginRead(1)) {
          break;
        }
        longest = Math.max(longest, System.nanoTime() - start);
      }
      long at = queue.readOffset(0);
      long number = segment.get(WORD, at);
      long word = segment.get(WORD, at + 8);
      if (word != mix(number)
          || segment.get(WORD, at + 16) != ~word
          || segment.get(WORD, at + 24) != word + number) {
        torn++;
      } else if (number < expected) {
        doubled++;
      } else {
        lost += number - expected;
        expected = number + 1;
      }
      queue.commitRead(1);
    }
    return new Received(count, lost, doubled, torn, waits, longest);
  }
}
