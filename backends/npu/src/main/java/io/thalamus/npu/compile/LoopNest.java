// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.machine.Architecture;
import java.util.Arrays;

/**
 * A layer on a device. A tiling is one index for each of the {@link #choices}. Immutable and
 * thread-safe.
 */
final class LoopNest<P> {
  private final Architecture architecture;
  private final Layer<P> layer;
  private final int[][] choices;

  LoopNest(Architecture architecture, Layer<P> layer) {
    this.architecture = architecture;
    this.layer = layer;
    this.choices = layer.choices(architecture);
  }

  /** By axis, the values that can be chosen. */
  int[][] choices() {
    return choices;
  }

  private int[] tile(int[] tiling) {
    int[] tile = new int[tiling.length];
    Arrays.setAll(tile, i -> choices[i][tiling[i]]);
    return tile;
  }

  /** Returns whether the scratchpad and the accumulators have room for a tiling. */
  boolean fits(int[] tiling) {
    Scratch scratch = new Scratch(architecture);
    layer.plan(tile(tiling), scratch);
    return scratch.fits();
  }

  /** About how many commands a tiling takes. */
  long commands(int[] tiling) {
    return layer.commands(tile(tiling));
  }

  /** Emits the commands of a tiling that fits. */
  void emit(int[] tiling, Emitter to) {
    int[] tile = tile(tiling);
    layer.emit(layer.plan(tile, new Scratch(architecture)), tile, to);
  }
}
