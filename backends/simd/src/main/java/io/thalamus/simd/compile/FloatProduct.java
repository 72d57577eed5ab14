// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.kernel.Rows;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;

/**
 * A float convolution or a fully connected layer: patches of the input times the packed filter,
 * plus bias, plus another tensor where one has been fused, clamped. Blocks of patches are copied
 * one after the other, also where the input is the left matrix itself: a small part of the work,
 * which makes the rows stand as the kernels want them.
 */
public final class FloatProduct implements Step {
  private final Patches patches;
  private final Product product;
  private final Tensor added;
  private final Tensor output;

  /** Elements from one row of the output to the next, and the first column that is written. */
  private final int distance;

  private final int firstColumn;
  private final Clamp clamp;
  private final Grid grid;

  /** The beginnings in the depth of the parts that are copied at a time, and the depth. */
  private final int[] parts;

  /**
   * @param added a tensor like the output, or null
   */
  FloatProduct(
      Patches patches, Product product, Tensor added, Tensor output, Clamp clamp, Budget budget) {
    this(patches, product, added, output, product.columns(), 0, clamp, budget);
  }

  /**
   * @param added a tensor like the output, or null
   * @param distance elements from one row of the output to the next
   * @param firstColumn the first that is written
   */
  FloatProduct(
      Patches patches,
      Product product,
      Tensor added,
      Tensor output,
      int distance,
      int firstColumn,
      Clamp clamp,
      Budget budget) {
    this.patches = patches;
    this.product = product;
    this.added = added;
    this.output = output;
    this.distance = distance;
    this.firstColumn = firstColumn;
    this.clamp = clamp;
    parts = patches.parts();
    grid = Grid.of(patches.rows(), product.columns(), product.depth(), budget);
  }

  @Override
  public int tiles() {
    return grid.tiles();
  }

  @Override
  public int scratchFloats() {
    return grid.leftFloats();
  }

  @Override
  public void run(Frame frame, Scratch scratch, int tile) {
    int first = grid.firstRow(tile);
    int at = first * distance + firstColumn;
    Rows rows = scratch.rows;
    rows.areScalar = frame.isScalar;
    rows.count = grid.endRow(tile) - first;
    rows.left(scratch.floats, Lanes.LEAD);
    rows.result(frame.floats(output), output.offset() + at, distance);
    if (added == null) {
      rows.addNothing();
    } else {
      rows.added(frame.floats(added), added.offset() + at, distance);
    }
    for (int part = 0; part < parts.length - 1; part++) {
      int from = parts[part];
      int end = parts[part + 1];
      patches.copy(frame, first, rows.count, from, end, scratch.floats, Lanes.LEAD);
      boolean isLast = part == parts.length - 2;
      if (!grid.multiply(frame, scratch, tile, product, from, end, isLast ? clamp : Clamp.NONE)) {
        return;
      }
      // What has been summed up so far is added to the next part.
      rows.added(frame.floats(output), output.offset() + at, distance);
    }
  }
}
