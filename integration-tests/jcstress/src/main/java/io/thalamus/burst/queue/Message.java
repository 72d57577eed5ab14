// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.queue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A message of several elements whose longs are all the same. Used by one thread at a time. */
final class Message {
  static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  static final int ELEMENTS = 2;
  static final int ELEMENT_SIZE = 16;
  static final int LONGS = ELEMENTS * ELEMENT_SIZE / Long.BYTES;
  private static final int TORN = -1;

  final MemorySegment segment = MemorySegment.ofArray(new long[LONGS]);

  void fill(long value) {
    for (int i = 0; i < LONGS; i++) {
      segment.setAtIndex(LONG, i, value);
    }
  }

  /** Returns what all longs are, or {@link #TORN}. */
  int value() {
    long first = segment.getAtIndex(LONG, 0);
    for (int i = 1; i < LONGS; i++) {
      if (segment.getAtIndex(LONG, i) != first) {
        return TORN;
      }
    }
    return (int) first;
  }
}
