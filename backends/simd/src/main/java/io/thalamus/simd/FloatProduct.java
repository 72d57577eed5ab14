// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

/**
 * A float convolution or a fully connected layer: patches of the input times the packed filter,
 * plus bias, plus another tensor where one has been fused, clamped. Where the input is the left
 * matrix itself, it is read in place; else blocks of patches are copied one after the other.
 */
final class FloatProduct implements Step {
  /** Depth that is copied and multiplied at a time: a panel's part of it stays close. */
  private static final int PART = 768;

  private final Patches patches;
  private final Product product;
  private final Tensor added;
  private final Tensor output;
  private final Clamp clamp;
  private final Grid grid;
  private final int tapsAtATime;

  /**
   * @param added a tensor like the output, or null
   */
  FloatProduct(
      Patches patches, Product product, Tensor added, Tensor output, Clamp clamp, Budget budget) {
    this.patches = patches;
    this.product = product;
    this.added = added;
    this.output = output;
    this.clamp = clamp;
    tapsAtATime =
        patches.areInput()
            ? patches.taps()
            : Math.clamp(PART / patches.channels(), 1, patches.taps());
    grid =
        Grid.of(
            patches.rows(),
            product.columns(),
            product.depth(),
            tapsAtATime * patches.channels(),
            budget);
  }

  @Override
  public int tiles() {
    return grid.tiles();
  }

  @Override
  public int scratchFloats() {
    return patches.areInput()
        ? 0
        : grid.blockRows() * Patches.distance(tapsAtATime * patches.channels());
  }

  @Override
  public void run(Frame frame, Scratch scratch, int tile) {
    int first = grid.firstRow(tile);
    int columns = product.columns();
    int channels = patches.channels();
    Rows rows = scratch.rows;
    rows.count = grid.endRow(tile) - first;
    rows.result(frame.floats, output.offset() + first * columns, columns);
    if (added == null) {
      rows.addNothing();
    } else {
      rows.added(frame.floats, added.offset() + first * columns, columns);
    }
    if (patches.areInput()) {
      rows.left(frame.floats, patches.source().offset() + first * channels, channels);
      product.multiply(rows, 0, channels, grid.firstColumn(tile), grid.endColumn(tile), clamp);
      return;
    }
    for (int tap = 0; tap < patches.taps(); tap += tapsAtATime) {
      int endTap = Math.min(patches.taps(), tap + tapsAtATime);
      patches.copy(
          frame, first, rows.count, tap * channels, endTap * channels, scratch.floats, Lanes.LEAD);
      rows.left(scratch.floats, Lanes.LEAD, Patches.distance((endTap - tap) * channels));
      product.multiply(
          rows,
          tap * channels,
          endTap * channels,
          grid.firstColumn(tile),
          grid.endColumn(tile),
          endTap == patches.taps() ? clamp : Clamp.NONE);
      // What has been summed up so far is added to the next part.
      rows.added(frame.floats, output.offset() + first * columns, columns);
    }
  }
}
