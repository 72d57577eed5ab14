// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.tflite.file.FlatSparsity;
import io.thalamus.tflite.file.FlatSparsity.Level;
import io.thalamus.tflite.file.FlatTensor;
import io.thalamus.tflite.file.Refusal;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Puts the zeros back into a constant that is stored without them: walks the tree of its levels,
 * whose leaves are the stored elements in order. Used once.
 */
final class SparseDecoder {
  private final FlatTensor tensor;
  private final int[] shape;
  private final FlatSparsity sparsity;
  private final MemorySegment stored;
  private final int elementSize;
  private final MemorySegment dense;
  private final int[] blockSizes;
  private final int[] indices;
  private int next;

  private SparseDecoder(FlatTensor tensor, MemorySegment stored, int elementSize, byte[] target) {
    this.tensor = tensor;
    this.shape = tensor.shape();
    this.sparsity = tensor.sparsity();
    this.stored = stored;
    this.elementSize = elementSize;
    this.dense = MemorySegment.ofArray(target);
    int blocks = sparsity.blockMap().length;
    this.blockSizes = new int[blocks];
    this.indices = new int[shape.length + blocks];
    checkLevels();
  }

  /**
   * Writes a constant with all its elements.
   *
   * @param stored the elements that are not left out
   * @param target zeros, as many bytes as the constant has
   */
  static void expand(FlatTensor tensor, MemorySegment stored, int elementSize, byte[] target) {
    new SparseDecoder(tensor, stored, elementSize, target).walk(0, 0);
  }

  private void checkLevels() {
    int[] order = sparsity.traversalOrder();
    List<Level> levels = sparsity.levels();
    check(order.length == indices.length && levels.size() == indices.length);
    boolean[] seen = new boolean[indices.length];
    for (int i = 0; i < order.length; i++) {
      boolean ofBlock = i >= shape.length;
      check(order[i] >= 0 && order[i] < order.length && !seen[order[i]]);
      check(ofBlock == order[i] >= shape.length);
      seen[order[i]] = true;
      if (ofBlock) {
        int block = order[i] - shape.length;
        int dimension = sparsity.blockMap()[block];
        blockSizes[block] = levels.get(i).size();
        check(dimension >= 0 && dimension < shape.length && blockSizes[block] > 0);
      }
    }
  }

  private void walk(int level, int node) {
    if (level == indices.length) {
      copy();
      return;
    }
    Level here = sparsity.levels().get(level);
    if (here.isDense()) {
      check(here.size() >= 0 && (long) node * here.size() < Integer.MAX_VALUE - here.size());
      for (int i = 0; i < here.size(); i++) {
        indices[level] = i;
        walk(level + 1, node * here.size() + i);
      }
      return;
    }
    int[] segments = here.segments();
    check(node >= 0 && node + 1 < segments.length);
    for (int i = segments[node]; i < segments[node + 1]; i++) {
      check(i >= 0 && i < here.indices().length);
      indices[level] = here.indices()[i];
      walk(level + 1, i);
    }
  }

  private void copy() {
    int[] position = new int[shape.length];
    for (int i = 0; i < indices.length; i++) {
      int dimension = sparsity.traversalOrder()[i];
      if (dimension < shape.length) {
        position[dimension] = indices[i];
      } else {
        int block = dimension - shape.length;
        int cut = sparsity.blockMap()[block];
        position[cut] = position[cut] * blockSizes[block] + indices[i];
      }
    }
    long index = 0;
    for (int i = 0; i < shape.length; i++) {
      check(position[i] >= 0 && position[i] < shape[i]);
      index = index * shape[i] + position[i];
    }
    check((next + 1L) * elementSize <= stored.byteSize());
    MemorySegment.copy(stored, (long) next * elementSize, dense, index * elementSize, elementSize);
    next++;
  }

  private void check(boolean condition) {
    if (!condition) {
      throw new Refusal(
          "the file is damaged: the sparse " + tensor.text() + " contradicts its shape");
    }
  }
}
