// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Fill;
import io.thalamus.npu.machine.Architecture;

/** A tensor set to one byte. */
final class FillLayer implements Layer {
  private final Architecture architecture;
  private final Tensor tensor;
  private final int value;
  private final int[][] choices;

  FillLayer(Architecture architecture, Tensor tensor, int value) {
    this.architecture = architecture;
    this.tensor = tensor;
    this.value = value;
    choices = new int[][] {Axes.parts(tensor.bytes())};
  }

  @Override
  public int[][] choices() {
    return choices;
  }

  @Override
  public boolean fits(int[] tiling) {
    return choices[0][tiling[0]] <= architecture.scratchpad();
  }

  @Override
  public long commands(int[] tiling) {
    return 1L + Axes.count(tensor.bytes(), choices[0][tiling[0]]);
  }

  @Override
  public void emit(int[] tiling, Emitter to) {
    int tile = choices[0][tiling[0]];
    to.add(new Fill(0, Block.of(tile), value));
    for (int at = 0; at < tensor.bytes(); at += tile) {
      tensor.store(to, 0, at, Block.of(Math.min(tile, tensor.bytes() - at)), 0, 0);
    }
  }
}
