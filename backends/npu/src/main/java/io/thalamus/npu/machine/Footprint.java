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
import io.thalamus.npu.command.Command.Softmax;
import io.thalamus.npu.command.Command.Store;
import io.thalamus.npu.command.Command.Window;

/**
 * The ranges of memories that a command reads and writes: they are checked before it runs, and
 * decide behind which other command it must wait. Stateless; numbers beyond all memories are all
 * the same, so that nothing overflows.
 */
public final class Footprint {
  /** Bytes of a channel's entry in the table of REQUANTIZE. */
  public static final int TABLE_ENTRY = 12;

  /** Entries of the tables of LOOKUP and SOFTMAX. */
  public static final int TABLE = 256;

  private static final long FAR = 1L << 40;

  private Footprint() {}

  /** The memories. */
  public enum Memory {
    SCRATCHPAD,
    ACCUMULATORS,
    WEIGHTS,
    TENSORS
  }

  /**
   * Receives ranges.
   *
   * @param <E> what it throws where it refuses one
   */
  @FunctionalInterface
  public interface Visitor<E extends Exception> {
    /**
     * One range.
     *
     * @param isWritten or read
     * @param length to the end of the last element
     */
    void access(Memory memory, boolean isWritten, long address, long length) throws E;
  }

  /** Tells all ranges of a command. */
  static <E extends Exception> void visit(Command command, Visitor<E> to) throws E {
    switch (command) {
      case Command.End _, Command.Barrier _ -> {}
      case Load load -> {
        to.access(
            load.space() == Command.WEIGHTS ? Memory.WEIGHTS : Memory.TENSORS,
            false,
            load.from(),
            extent(load.copy().source()));
        to.access(Memory.SCRATCHPAD, true, load.to(), extent(load.copy().target()));
      }
      case LoadPacked load -> {
        to.access(Memory.WEIGHTS, false, load.from(), load.packedBytes());
        to.access(Memory.SCRATCHPAD, true, load.to(), load.bytes());
      }
      case Store store -> {
        to.access(Memory.SCRATCHPAD, false, store.from(), extent(store.copy().source()));
        to.access(Memory.TENSORS, true, store.to(), extent(store.copy().target()));
      }
      case Fill fill -> to.access(Memory.SCRATCHPAD, true, fill.to(), extent(fill.target()));
      case MatMul product -> {
        Window window = product.window();
        to.access(Memory.SCRATCHPAD, false, window.input(), extent(window));
        to.access(
            Memory.SCRATCHPAD,
            false,
            product.weights(),
            times(times(cells(window), product.columns()), window.elementSize()));
        sums(window, product.accumulators(), product.columns(), to);
      }
      case Depthwise product -> {
        Window window = product.window();
        long channels = times(window.channels(), product.multiplier());
        to.access(Memory.SCRATCHPAD, false, window.input(), extent(window));
        to.access(
            Memory.SCRATCHPAD,
            false,
            product.weights(),
            times(times(window.kernel().area(), channels), window.elementSize()));
        sums(window, product.accumulators(), channels, to);
      }
      case Requantize results -> visit(results, to);
      case Pool pool -> {
        Window window = pool.window();
        int size = window.elementSize();
        long pixel = times(window.channels(), size);
        to.access(
            Memory.SCRATCHPAD,
            false,
            window.input(),
            times(pool.input().height() - 1L, window.inputRow())
                + times(pool.input().width() - 1L, window.inputPixel())
                + pixel);
        to.access(Memory.SCRATCHPAD, true, pool.to(), times(window.output().area(), pixel));
      }
      case Elementwise pair -> {
        int size = (pair.flags() & Command.FLOAT16) != 0 ? 2 : 1;
        to.access(
            Memory.SCRATCHPAD, false, pair.a(), extent(pair, pair.aRow(), pair.aStep()) + size);
        to.access(
            Memory.SCRATCHPAD, false, pair.b(), extent(pair, pair.bRow(), pair.bStep()) + size);
        to.access(Memory.SCRATCHPAD, true, pair.to(), times(times(pair.rows(), pair.run()), size));
      }
      case Lookup lookup -> {
        to.access(Memory.SCRATCHPAD, false, lookup.from(), lookup.count());
        to.access(Memory.SCRATCHPAD, false, lookup.table(), TABLE);
        to.access(Memory.SCRATCHPAD, true, lookup.to(), lookup.count());
      }
      case Softmax softmax -> {
        long count = times(softmax.rows(), softmax.depth());
        to.access(Memory.SCRATCHPAD, false, softmax.from(), count);
        to.access(Memory.SCRATCHPAD, false, softmax.table(), TABLE * Integer.BYTES);
        to.access(Memory.SCRATCHPAD, true, softmax.to(), count);
      }
    }
  }

  private static <E extends Exception> void sums(
      Window window, int address, long columns, Visitor<E> to) throws E {
    long count = times(window.output().area(), columns);
    if (window.has(Command.ACCUMULATE)) {
      to.access(Memory.ACCUMULATORS, false, address, count);
    }
    to.access(Memory.ACCUMULATORS, true, address, count);
  }

  private static <E extends Exception> void visit(Requantize results, Visitor<E> to) throws E {
    boolean isFloat = (results.flags() & Command.FLOAT16) != 0;
    to.access(
        Memory.ACCUMULATORS,
        false,
        results.accumulators(),
        times(results.pixels() - 1L, results.pixelStride())
            + times(results.channels() - 1L, results.channelStride())
            + 1);
    to.access(
        Memory.SCRATCHPAD,
        false,
        results.table(),
        times(results.channels(), isFloat ? Float.BYTES : TABLE_ENTRY));
    to.access(
        Memory.SCRATCHPAD,
        true,
        results.to(),
        times(results.pixels() - 1L, results.toPixel())
            + times(results.channels(), isFloat ? 2 : 1));
  }

  /** Products of a pixel and a column. */
  static long cells(Window window) {
    return times(window.kernel().area(), window.channels());
  }

  private static long extent(Elementwise pair, int row, int step) {
    return times(pair.rows() - 1L, row) + times(pair.run() - 1L, step);
  }

  private static long extent(Block block) {
    return times(block.planes() - 1L, block.plane())
        + times(block.rows() - 1L, block.row())
        + block.run();
  }

  private static long extent(Window window) {
    long rows =
        times(window.output().height() - 1L, window.stride().height())
            + times(window.kernel().height() - 1L, window.dilation().height());
    long pixels =
        times(window.output().width() - 1L, window.stride().width())
            + times(window.kernel().width() - 1L, window.dilation().width());
    return times(rows, window.inputRow())
        + times(pixels, window.inputPixel())
        + times(window.channels(), window.elementSize());
  }

  /** The product, or a number beyond all memories. Neither factor is negative. */
  static long times(long a, long b) {
    return b != 0 && a > FAR / b ? FAR : a * b;
  }
}
