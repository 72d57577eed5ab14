// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.simd.kernel.Lanes.COUNT;
import static io.thalamus.simd.kernel.Lanes.FLOATS;
import static io.thalamus.simd.kernel.Lanes.INTS;

import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.kernel.Requantizer;
import io.thalamus.simd.kernel.Rows;
import io.thalamus.simd.kernel.ScalarKernels;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.List;
import java.util.Optional;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/**
 * A convolution, a fully connected layer or a product of 8-bit integers, exact: patches are copied
 * as floats less the zero point, and multiplied by the float kernels over parts of the depth that
 * are so short that every sum stays below 2^24, where floats are exact. Sums of parts are added as
 * ints.
 */
public final class QuantizedProduct implements Step {
  private final Patches patches;
  private final Product product;
  private final Optional<Requantizer> requantizer;
  private final Tensor output;
  private final Grid grid;

  /** The beginnings of the parts in the depth, and one behind the last. */
  private final int[] parts;

  /**
   * @param requantizer from sums to bytes; empty where sums of 32 bits are the results
   * @param parts where in the depth the exact parts begin, in order, and the depth
   */
  QuantizedProduct(
      Patches patches,
      Product product,
      Optional<Requantizer> requantizer,
      Tensor output,
      List<Integer> parts,
      Budget budget) {
    this.patches = patches;
    this.product = product;
    this.requantizer = requantizer;
    this.output = output;
    this.parts = parts.stream().mapToInt(Integer::intValue).toArray();
    grid = Grid.of(patches.rows(), product.columns(), product.depth(), budget);
  }

  @Override
  public int tiles() {
    return grid.tiles();
  }

  /** The patches, and behind them the sums. */
  @Override
  public int scratchFloats() {
    return grid.leftFloats() + sums();
  }

  @Override
  public int scratchInts() {
    return isWhole() ? 0 : sums();
  }

  /** Returns true if the float sums of a tile are all that its results are made of. */
  private boolean isWhole() {
    return parts.length == 2 && requantizer.isPresent();
  }

  private int sums() {
    return grid.blockRows() * sumDistance();
  }

  /** Columns of a tile, rounded up: vectors may be read behind the last one. */
  private int sumDistance() {
    return Lanes.roundUp(grid.blockColumns());
  }

  @Override
  public void run(Frame frame, Scratch scratch, int tile) {
    int first = grid.firstRow(tile);
    int begin = grid.firstColumn(tile);
    int end = grid.endColumn(tile);
    int distance = sumDistance();
    int sumsAt = Lanes.LEAD + grid.leftFloats();
    Rows rows = scratch.rows;
    rows.areScalar = frame.isScalar;
    rows.count = grid.endRow(tile) - first;
    rows.paddedResult(scratch.floats, sumsAt - begin, distance);
    rows.left(scratch.floats, Lanes.LEAD);
    rows.addNothing();
    boolean isWhole = isWhole();
    for (int part = 0; part < parts.length - 1; part++) {
      int from = parts[part];
      int partEnd = parts[part + 1];
      patches.copy(frame, first, rows.count, from, partEnd, scratch.floats, Lanes.LEAD);
      if (!grid.multiply(frame, scratch, tile, product, from, partEnd, Clamp.NONE)) {
        return;
      }
      if (!isWhole) {
        if (frame.isScalar) {
          ScalarKernels.collect(
              scratch.floats, sumsAt, scratch.ints, rows.count * distance, part == 0);
        } else {
          collect(scratch, sumsAt, rows.count * distance, part == 0);
        }
      }
    }
    int columns = product.columns();
    int to = output.offset() + first * columns + begin;
    boolean isScalar = frame.isScalar;
    int count = rows.count;
    if (requantizer.isEmpty()) {
      for (int row = 0; row < count; row++) {
        System.arraycopy(
            scratch.ints, row * distance, frame.ints(output), to + row * columns, end - begin);
      }
      return;
    }
    Object sums = isWhole ? scratch.floats : scratch.ints;
    int at = isWhole ? sumsAt : 0;
    byte[] out = frame.bytes(output);
    byte[] spare = scratch.spareBytes;
    requantizer
        .get()
        .store(isScalar, sums, at, distance, count, begin, end, out, to, columns, spare);
  }

  /** Adds the float sums of a part to the int sums, or begins these with them. */
  private static void collect(Scratch scratch, int from, int count, boolean isFirst) {
    for (int i = 0; i < count; i += COUNT) {
      IntVector sums =
          (IntVector)
              FloatVector.fromArray(FLOATS, scratch.floats, from + i)
                  .convert(VectorOperators.F2I, 0);
      if (!isFirst) {
        sums = sums.add(IntVector.fromArray(INTS, scratch.ints, i));
      }
      sums.intoArray(scratch.ints, i);
    }
  }
}
