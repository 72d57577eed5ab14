// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import java.util.ArrayList;
import java.util.Comparator;
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
    bySize.sort(Comparator.comparingLong((Integer i) -> values.get(i).size()).reversed());
    long[] offsets = new long[values.size()];
    List<Integer> placed = new ArrayList<>();
    long end = 0;
    for (int index : bySize) {
      Value value = values.get(index);
      long offset = 0;
      for (int other : placed) {
        long start = offsets[other];
        if (value.livesWith(values.get(other))
            && start < offset + value.size()
            && offset < start + values.get(other).size()) {
          offset = start + values.get(other).size();
        }
      }
      offsets[index] = offset;
      placed.add(index);
      placed.sort(Comparator.comparingLong(other -> offsets[other]));
      end = Math.max(end, offset + value.size());
    }
    return new LifetimePlan(offsets, end);
  }
}
