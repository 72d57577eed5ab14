// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import java.util.ArrayList;
import java.util.List;

/**
 * The places of values in one block of memory. Values whose lives do not overlap share room: the
 * largest are placed first, each at the lowest offset that is free.
 *
 * @param offsets by value, in the unit of their sizes
 * @param size of the block
 */
public record LifetimePlan(long[] offsets, long size) {
  /**
   * A value and the steps during which it must be kept.
   *
   * @param size in a unit of the caller's, rounded up to its alignment
   * @param first the step that writes it
   * @param last the last step that reads it
   */
  public record Value(long size, int first, int last) {
    private boolean livesWith(Value other) {
      return other.first <= last && first <= other.last;
    }
  }

  /** Places values. */
  public static LifetimePlan of(List<Value> values) {
    List<Integer> bySize = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      bySize.add(i);
    }
    // Written out: a comparator of the JDK is made when a new process first asks for it.
    bySize.sort((a, b) -> Long.compare(values.get(b).size(), values.get(a).size()));
    long[] offsets = new long[values.size()];
    int[] placed = new int[values.size()];
    int count = 0;
    long end = 0;
    for (int index : bySize) {
      Value value = values.get(index);
      long offset = 0;
      for (int i = 0; i < count && offsets[placed[i]] < offset + value.size(); i++) {
        Value other = values.get(placed[i]);
        if (value.livesWith(other)) {
          offset = Math.max(offset, offsets[placed[i]] + other.size());
        }
      }
      offsets[index] = offset;
      // They stay in the order of their offsets.
      int at = count;
      while (at > 0 && offsets[placed[at - 1]] > offset) {
        placed[at] = placed[at - 1];
        at--;
      }
      placed[at] = index;
      count++;
      end = Math.max(end, offset + value.size());
    }
    return new LifetimePlan(offsets, end);
  }
}
