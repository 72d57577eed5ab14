// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Command.Block;
import io.thalamus.npu.command.Command.Depthwise;
import io.thalamus.npu.command.Command.Elementwise;
import io.thalamus.npu.command.Command.Fill;
import io.thalamus.npu.command.Command.Load;
import io.thalamus.npu.command.Command.LoadPacked;
import io.thalamus.npu.command.Command.Lookup;
import io.thalamus.npu.command.Command.MatMul;
import io.thalamus.npu.command.Command.Pool;
import io.thalamus.npu.command.Command.Requantize;
import io.thalamus.npu.command.Command.Size;
import io.thalamus.npu.command.Command.Softmax;
import io.thalamus.npu.command.Command.Store;
import io.thalamus.npu.command.Command.Window;
import io.thalamus.npu.command.Executable.Memories;

/**
 * Checks a command against the sizes of the memories. A command that passes can be executed without
 * another check: no index is outside its array, and the work is bounded by the memories' sizes.
 * Immutable.
 */
final class Bounds implements Footprint.Visitor<MachineFault> {
  /** The largest size or distance along an axis of a window: products of two fit an int. */
  static final int MAX_SIZE = (1 << 15) - 1;

  private final long[] sizes = new long[Footprint.Memory.values().length];

  Bounds(Memories memories, int weights) {
    sizes[Footprint.Memory.SCRATCHPAD.ordinal()] = memories.scratchpad();
    sizes[Footprint.Memory.ACCUMULATORS.ordinal()] = memories.accumulators();
    sizes[Footprint.Memory.TENSORS.ordinal()] = memories.tensors();
    sizes[Footprint.Memory.WEIGHTS.ordinal()] = weights;
  }

  @Override
  public void access(Footprint.Memory memory, boolean isWritten, long address, long length)
      throws MachineFault {
    long size = sizes[memory.ordinal()];
    if (address < 0 || length < 0 || address + length > size) {
      throw new MachineFault(
          "%s %d at %d of %s, which has %d"
              .formatted(isWritten ? "writes" : "reads", length, address, memory, size));
    }
  }

  /**
   * Checks a command.
   *
   * @throws MachineFault where it cannot be executed
   */
  void check(Command command) throws MachineFault {
    switch (command) {
      case Command.End _, Command.Barrier _, LoadPacked _ -> {}
      case Load load -> {
        require(load.space() == 0 || load.space() == 1, "names a memory that there is not");
        check(load.copy().source());
        checkDense(load.copy().target());
      }
      case Store store -> {
        check(store.copy().source());
        checkDense(store.copy().target());
      }
      case Fill fill -> checkDense(fill.target());
      case MatMul product -> {
        check(product.window());
        require(product.columns() > 0, "has no columns");
      }
      case Depthwise product -> {
        check(product.window());
        require(product.multiplier() > 0, "has no multiplier");
      }
      case Requantize results -> check(results);
      case Pool pool -> {
        check(pool.window());
        check(pool.input());
        require(Math.abs((long) pool.top()) <= MAX_SIZE, "begins too far above");
        require(Math.abs((long) pool.left()) <= MAX_SIZE, "begins too far left");
        require(pool.window().dilation().area() == 1, "has dilation");
      }
      case Elementwise pair -> {
        require(pair.rows() > 0 && pair.run() > 0, "has no elements");
        require(
            pair.aRow() >= 0 && pair.aStep() >= 0 && pair.bRow() >= 0 && pair.bStep() >= 0,
            "has a negative stride");
      }
      case Lookup lookup -> require(lookup.count() > 0, "has no elements");
      case Softmax softmax -> require(softmax.rows() > 0 && softmax.depth() > 0, "has no elements");
    }
    Footprint.visit(command, this);
  }

  private static void check(Requantize results) throws MachineFault {
    require(results.pixels() > 0 && results.channels() > 0, "has no elements");
    require(results.pixelStride() >= 0 && results.channelStride() >= 0, "has a negative stride");
    int size = (results.flags() & Command.FLOAT16) != 0 ? 2 : 1;
    require(
        results.toPixel() >= (long) results.channels() * size || results.pixels() == 1,
        "writes over itself");
  }

  private static void check(Block block) throws MachineFault {
    require(block.run() > 0 && block.rows() > 0 && block.planes() > 0, "has an empty block");
    require(block.row() >= 0 && block.plane() >= 0, "has a negative stride");
  }

  /** A block that is written, none of its bytes twice: its size bounds the work. */
  private static void checkDense(Block block) throws MachineFault {
    check(block);
    require(block.rows() == 1 || block.row() >= block.run(), "writes over itself");
    require(
        block.planes() == 1
            || block.plane() >= Footprint.times(block.rows() - 1L, block.row()) + block.run(),
        "writes over itself");
  }

  private static void check(Window window) throws MachineFault {
    require(window.channels() > 0, "has no channels");
    require(window.inputRow() >= 0 && window.inputPixel() >= 0, "has a negative stride");
    check(window.kernel());
    check(window.dilation());
    check(window.stride());
    check(window.output());
  }

  private static void check(Size size) throws MachineFault {
    require(
        size.height() > 0
            && size.height() <= MAX_SIZE
            && size.width() > 0
            && size.width() <= MAX_SIZE,
        "has a size that is not between 1 and " + MAX_SIZE);
  }

  private static void require(boolean holds, String otherwise) throws MachineFault {
    if (!holds) {
      throw new MachineFault(otherwise);
    }
  }
}
