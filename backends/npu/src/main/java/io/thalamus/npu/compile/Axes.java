// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import java.util.stream.IntStream;

/** Values for the axes of a {@link Layer}. Stateless. */
final class Axes {
  private Axes() {}

  /** No buffer, or a second one to fill while the first is in use. */
  static final int MAX_BUFFERS = 2;

  private static final int[] BUFFERS = {1, MAX_BUFFERS};
  private static final int[] FLAG = {0, 1};

  /** One or two buffers. */
  static int[] buffers() {
    return BUFFERS.clone();
  }

  /** No or yes. */
  static int[] flag() {
    return FLAG.clone();
  }

  /** The one value that there is. */
  static int[] only(int value) {
    return new int[] {value};
  }

  /** Sizes that cut an extent into equal parts, the last perhaps smaller; the largest first. */
  static int[] parts(int extent) {
    return parts(extent, 1);
  }

  /** Returns these axes in multiples of a unit. */
  static int[] parts(int extent, int unit) {
    int units = Math.ceilDiv(extent, unit);
    return IntStream.rangeClosed(1, units)
        .map(count -> Math.min(extent, Math.ceilDiv(units, count) * unit))
        .distinct()
        .toArray();
  }

  /** Returns the number of tiles of a size. */
  static int count(int extent, int tile) {
    return Math.ceilDiv(extent, tile);
  }
}
