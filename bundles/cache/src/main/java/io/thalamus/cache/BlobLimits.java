// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cache;

import java.util.Objects;

/**
 * Limits of a {@link BlobStore}, and its rules of eviction. Immutable.
 *
 * @param maxKeyBytes of one key
 * @param maxValueBytes of one value
 * @param maxTotalBytes of all keys and values
 * @param select which blob goes first
 * @param capacity how many go
 */
public record BlobLimits(
    int maxKeyBytes, int maxValueBytes, long maxTotalBytes, Select select, Capacity capacity) {
  /** The order of eviction. */
  public enum Select {
    /** Any. */
    RANDOM,
    /** The one that was not used for the longest time. */
    LRU
  }

  /** The amount of eviction. */
  public enum Capacity {
    /** Down to half of the total, if there is more than that: a large blob may find no room. */
    HALVE,
    /** Until the new one fits. */
    FIT,
    /** Down to half of the total, and until the new one fits. */
    FIT_HALVE
  }

  public BlobLimits {
    Objects.requireNonNull(select, "select");
    Objects.requireNonNull(capacity, "capacity");
    if (maxKeyBytes < 0 || maxValueBytes < 0 || maxTotalBytes < 0) {
      throw new IllegalArgumentException("a limit is negative");
    }
  }

  /** With the usual policy of BlobCache: any blobs, down to half of the total. */
  public static BlobLimits of(int maxKeyBytes, int maxValueBytes, long maxTotalBytes) {
    return new BlobLimits(maxKeyBytes, maxValueBytes, maxTotalBytes, Select.RANDOM, Capacity.HALVE);
  }

  /** The same with another policy. */
  public BlobLimits with(Select newSelect, Capacity newCapacity) {
    return new BlobLimits(maxKeyBytes, maxValueBytes, maxTotalBytes, newSelect, newCapacity);
  }

  /** Returns whether a blob of these sizes is taken at all. */
  boolean admits(int key, int value) {
    return key > 0
        && value > 0
        && key <= maxKeyBytes
        && value <= maxValueBytes
        && (long) key + value <= maxTotalBytes;
  }

  /** Returns whether blobs may be evicted at all while there are this many bytes. */
  boolean isCleanable(long total) {
    return capacity != Capacity.HALVE || total > maxTotalBytes / 2;
  }

  /** Returns the bytes that may stay to let the store grow by this many. */
  long keep(long growth) {
    return switch (capacity) {
      case HALVE -> maxTotalBytes / 2;
      case FIT -> maxTotalBytes - growth;
      case FIT_HALVE -> Math.min(maxTotalBytes / 2, maxTotalBytes - growth);
    };
  }
}
