// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

/**
 * A count of elements cut into ranges of equal size, each a tile. Immutable.
 *
 * @param count of all elements
 * @param size of a range, but for the last one
 */
public record Span(int count, int size) {
  /** Ranges begin at cache lines. */
  private static final int UNIT = 64;

  /**
   * Ranges of elements.
   *
   * @param workEach accesses for each element
   */
  public static Span of(int count, int workEach, Budget budget) {
    int tiles = budget.tiles((long) count * workEach);
    int size = (count + tiles - 1) / tiles;
    return new Span(count, Math.max(UNIT, (size + UNIT - 1) / UNIT * UNIT));
  }

  public int tiles() {
    return Math.max(1, (count + size - 1) / size);
  }

  public int first(int tile) {
    return tile * size;
  }

  public int end(int tile) {
    return Math.min(count, (tile + 1) * size);
  }
}
