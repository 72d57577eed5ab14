// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.Shape;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * The places of elements that an operation only moves: a block is read with one stride for each of
 * its dimensions and written with another. All offsets and strides are in elements. Immutable.
 *
 * <p>Dimensions that can be walked as one are joined, so that the last one is as long as it can be.
 */
public final class StridedCopy {
  private final int[] dimensions;
  private final long source;
  private final long[] sourceStrides;
  private final long target;
  private final long[] targetStrides;

  private StridedCopy(
      int[] dimensions, long source, long[] sourceStrides, long target, long[] targetStrides) {
    this.dimensions = dimensions;
    this.source = source;
    this.sourceStrides = sourceStrides;
    this.target = target;
    this.targetStrides = targetStrides;
  }

  /**
   * A copy of a block.
   *
   * @param dimensions of the block
   * @param source index of the first element to read
   * @param sourceStrides by dimension, how far apart two elements are read; may be 0 or negative
   * @param target index of the first element to write
   * @param targetStrides by dimension, how far apart two elements are written
   */
  public static StridedCopy of(
      int[] dimensions, long source, long[] sourceStrides, long target, long[] targetStrides) {
    int rank = dimensions.length;
    int[] joined = new int[rank + 1];
    long[] from = new long[rank + 1];
    long[] to = new long[rank + 1];
    // Filled from behind; a block without dimensions is one element.
    int first = rank;
    joined[rank] = 1;
    from[rank] = 1;
    to[rank] = 1;
    for (int i = rank - 1; i >= 0; i--) {
      if (dimensions[i] == 1) {
        continue;
      }
      boolean continues =
          sourceStrides[i] == joined[first] * from[first]
              && targetStrides[i] == joined[first] * to[first];
      if (joined[first] != 1 && !continues) {
        first--;
        joined[first] = 1;
      }
      if (joined[first] == 1) {
        from[first] = sourceStrides[i];
        to[first] = targetStrides[i];
      }
      joined[first] *= dimensions[i];
    }
    return new StridedCopy(
        Arrays.copyOfRange(joined, first, rank + 1),
        source,
        Arrays.copyOfRange(from, first, rank + 1),
        target,
        Arrays.copyOfRange(to, first, rank + 1));
  }

  /**
   * A copy that fills a whole tensor, in its order, with elements read by strides.
   *
   * @param dimensions of the block, whose product is the number of elements of the tensor
   */
  public static StridedCopy gather(int[] dimensions, long source, long[] sourceStrides) {
    return of(dimensions, source, sourceStrides, 0, strides(dimensions));
  }

  /** For each dimension of a dense tensor, how far apart two neighbours along it stand. */
  public static long[] strides(int... dimensions) {
    long[] strides = new long[dimensions.length];
    long stride = 1;
    for (int i = dimensions.length - 1; i >= 0; i--) {
      strides[i] = stride;
      stride *= dimensions[i];
    }
    return strides;
  }

  /** For each dimension of a dense tensor, how far apart two neighbours along it stand. */
  public static long[] strides(Shape shape) {
    return strides(shape.toArray());
  }

  /** Receives elements that stand side by side, or as the strides of the run say. */
  @FunctionalInterface
  public interface Run {
    /**
     * One walk along the last dimension.
     *
     * @param source index of the first element to read
     * @param target index of the first element to write
     */
    void accept(long source, long target);
  }

  /** The number of elements of each run. */
  public int runLength() {
    return dimensions[dimensions.length - 1];
  }

  /** Returns how far apart the elements of a run are read. */
  public long runSourceStride() {
    return sourceStrides[dimensions.length - 1];
  }

  /** Returns how far apart the elements of a run are written. */
  public long runTargetStride() {
    return targetStrides[dimensions.length - 1];
  }

  /** Returns true if the first elements of both tensors, this many, are copied in their order. */
  boolean isWhole(long elements) {
    return dimensions.length == 1
        && elements == runLength()
        && source == 0
        && target == 0
        && runSourceStride() == 1
        && runTargetStride() == 1;
  }

  /** Walks over all runs. */
  public void forEachRun(Run run) {
    if (!isEmpty()) {
      walk(run, 0, dimensions.length - 1, source, target);
    }
  }

  private boolean isEmpty() {
    for (int dimension : dimensions) {
      if (dimension == 0) {
        return true;
      }
    }
    return false;
  }

  /**
   * Runs that are equally far from each other. Immutable.
   *
   * @param source index of the first element to read
   * @param target index of the first element to write
   * @param runs how many
   * @param sourceStep how far apart the first elements of two runs are read; may be 0 or negative
   * @param targetStep how far apart they are written
   */
  public record Block(long source, long target, int runs, long sourceStep, long targetStep) {
    /** Returns one of the runs. */
    public Block run(int index) {
      return new Block(source + index * sourceStep, target + index * targetStep, 1, 0, 0);
    }
  }

  /** Walks over all runs, as many of them at a time as are equally far from each other. */
  public void forEachBlock(Consumer<Block> consumer) {
    int axis = dimensions.length - 2;
    if (axis < 0) {
      forEachRun((from, to) -> consumer.accept(new Block(from, to, 1, 0, 0)));
    } else if (!isEmpty()) {
      int runs = dimensions[axis];
      Run first =
          (from, to) ->
              consumer.accept(new Block(from, to, runs, sourceStrides[axis], targetStrides[axis]));
      walk(first, 0, axis, source, target);
    }
  }

  private void walk(Run run, int axis, int end, long from, long to) {
    if (axis == end) {
      run.accept(from, to);
      return;
    }
    for (int i = 0; i < dimensions[axis]; i++) {
      walk(run, axis + 1, end, from + i * sourceStrides[axis], to + i * targetStrides[axis]);
    }
  }

  /** Receives some elements of a run. */
  @FunctionalInterface
  public interface Piece {
    /**
     * One walk along a part of the last dimension.
     *
     * @param source index of the first element to read
     * @param target index of the first element to write
     * @param count of elements
     */
    void accept(long source, long target, int count);
  }

  /**
   * Walks over all runs in pieces, in an order in which pieces that read next to each other follow
   * each other: a transposition finds in a cache what its neighbour has read. Strides that write an
   * element twice are not for it.
   *
   * @param most elements of a piece
   */
  public void forEachPiece(int most, Piece piece) {
    if (isEmpty()) {
      return;
    }
    int last = dimensions.length - 1;
    int near = last;
    for (int axis = 0; axis < last; axis++) {
      boolean isNearer = near == last || distance(axis) < distance(near);
      near = isNearer ? axis : near;
    }
    // The near dimension goes behind all others, and the pieces before it.
    int[] order = new int[last + 1];
    int count = 0;
    for (int axis = 0; axis < last; axis++) {
      if (axis != near) {
        order[count++] = axis;
      }
    }
    order[count++] = last;
    if (near != last) {
      order[count] = near;
    }
    pieces(order, 0, most, source, target, Math.min(most, runLength()), piece);
  }

  private long distance(int axis) {
    return Math.abs(sourceStrides[axis]);
  }

  private void pieces(int[] order, int at, int most, long from, long to, int count, Piece piece) {
    if (at == order.length) {
      piece.accept(from, to, count);
      return;
    }
    int axis = order[at];
    int step = axis == dimensions.length - 1 ? most : 1;
    for (int i = 0; i < dimensions[axis]; i += step) {
      int some = step == 1 ? count : Math.min(most, dimensions[axis] - i);
      long next = from + i * sourceStrides[axis];
      pieces(order, at + 1, most, next, to + i * targetStrides[axis], some, piece);
    }
  }

  @Override
  public String toString() {
    return Arrays.toString(dimensions)
        + " from "
        + source
        + Arrays.toString(sourceStrides)
        + " to "
        + target
        + Arrays.toString(targetStrides);
  }
}
