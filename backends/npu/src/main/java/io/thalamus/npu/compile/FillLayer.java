// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Fill;
import io.thalamus.npu.machine.Architecture;

/** A tensor set to one byte. */
record FillLayer(Tensor tensor, int value) implements Layer<Integer> {
  @Override
  public int[][] choices(Architecture architecture) {
    return new int[][] {Axes.parts(tensor.bytes())};
  }

  @Override
  public Integer plan(int[] tile, Scratch scratch) {
    return scratch.bytes(tile[0]);
  }

  @Override
  public long commands(int[] tile) {
    return 1L + Axes.count(tensor.bytes(), tile[0]);
  }

  @Override
  public void emit(Integer buffer, int[] tile, Emitter to) {
    to.add(new Fill(buffer, Block.of(tile[0]), value));
    for (int at = 0; at < tensor.bytes(); at += tile[0]) {
      tensor.store(to, buffer, at, Block.of(Math.min(tile[0], tensor.bytes() - at)), 0, 0);
    }
  }
}
