// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import java.util.List;

/**
 * The storage of a constant without its zeros: a tree with a level for each dimension, and one for
 * each dimension that is also cut into blocks. The arrays must not be changed.
 *
 * @param traversalOrder for each level its dimension; those of blocks count on from the rank
 * @param blockMap for each block dimension the dimension that it cuts
 * @param levels in the order of the tree
 */
public record FlatSparsity(int[] traversalOrder, int[] blockMap, List<Level> levels) {
  /**
   * One level of the tree.
   *
   * @param isDense whether each node has all children
   * @param size how many children, where it is dense
   * @param segments for each node above where its children begin among the indices, and one end
   * @param indices the children that are there
   */
  public record Level(boolean isDense, int size, int[] segments, int[] indices) {}
}
