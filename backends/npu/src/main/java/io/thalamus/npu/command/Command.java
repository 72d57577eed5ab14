// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

/**
 * One command, decoded: records of plain integers. Immutable. Addresses and strides are in bytes,
 * those of accumulators in accumulators. Nothing is checked here; the interpreter checks each
 * command against the memories before it executes it.
 */
public sealed interface Command {
  /** Flag: the sums are added to what the accumulators hold; otherwise they start at 0. */
  int ACCUMULATE = 1;

  /** Flag: stored values are unsigned. */
  int UNSIGNED = 2;

  /** Flag: values are of float16, sums of float32. */
  int FLOAT16 = 4;

  /** Flag of REQUANTIZE: products are rounded once and not twice. */
  int ROUND_ONCE = 8;

  /** Flag of REQUANTIZE: products are those of floats, rounded once and to even. */
  int ROUND_TO_EVEN = 16;

  /** Flag of POOL: the maximum and not the mean. */
  int MAXIMUM = 8;

  /** Flag of POOL: ties of means go away from the middle of the type, and not up. */
  int CENTERED = 16;

  /** Flag of ELEMENTWISE: the product and not the sum. */
  int PRODUCT = 8;

  /** DRAM that holds weights and tables, written once. */
  int WEIGHTS = 0;

  /** DRAM that holds inputs, outputs and what lies between. */
  int TENSORS = 1;

  /** Returns its kind. */
  default Opcode opcode() {
    return switch (this) {
      case End _ -> Opcode.END;
      case Barrier _ -> Opcode.BARRIER;
      case Load _ -> Opcode.LOAD;
      case LoadPacked _ -> Opcode.LOAD_PACKED;
      case Store _ -> Opcode.STORE;
      case Fill _ -> Opcode.FILL;
      case MatMul _ -> Opcode.MATMUL;
      case Depthwise _ -> Opcode.DEPTHWISE;
      case Requantize _ -> Opcode.REQUANTIZE;
      case Pool _ -> Opcode.POOL;
      case Elementwise _ -> Opcode.ELEMENTWISE;
      case Lookup _ -> Opcode.LOOKUP;
      case Softmax _ -> Opcode.SOFTMAX;
    };
  }

  /** Its words behind the first, in the order of {@link Opcode#fields}. */
  default int[] words() {
    return Words.of(this);
  }

  /** Ends the stream. */
  record End() implements Command {}

  /**
   * Waits for everything before it.
   *
   * @param operation the number of the model's operation that begins here, for people
   */
  record Barrier(int operation) implements Command {}

  /**
   * A block of bytes: planes of rows of runs.
   *
   * @param run bytes that stand side by side
   * @param rows runs in a plane
   * @param row distance of two rows
   * @param planes in the block
   * @param plane distance of two planes
   */
  record Block(int run, int rows, int row, int planes, int plane) {
    /** Bytes that are side by side. */
    public static Block of(int bytes) {
      return new Block(bytes, 1, 0, 1, 0);
    }

    /** All bytes. */
    public long bytes() {
      return (long) run * rows * planes;
    }
  }

  /**
   * A block that is read and written with distances of its own.
   *
   * @param run bytes that stand side by side
   * @param fromRow distance of two rows where they are read
   * @param toRow distance of two rows where they are written
   * @param fromPlane distance of two planes where they are read
   * @param toPlane distance of two planes where they are written
   */
  record Copy(int run, int rows, int fromRow, int toRow, int planes, int fromPlane, int toPlane) {
    static Copy of(Block source, int toRow, int toPlane) {
      return new Copy(
          source.run, source.rows, source.row, toRow, source.planes, source.plane, toPlane);
    }

    /** The block as it is read. */
    public Block source() {
      return new Block(run, rows, fromRow, planes, fromPlane);
    }

    /** The block as it is written. */
    public Block target() {
      return new Block(run, rows, toRow, planes, toPlane);
    }
  }

  /**
   * DRAM to scratchpad.
   *
   * @param space {@link #WEIGHTS} or {@link #TENSORS}
   * @param from address in DRAM
   * @param to address in the scratchpad
   */
  record Load(int space, int from, int to, Copy copy) implements Command {
    public Load(int space, int from, int to, Block source, int toRow, int toPlane) {
      this(space, from, to, Copy.of(source, toRow, toPlane));
    }
  }

  /**
   * Packed weights to scratchpad.
   *
   * @param from address among the weights
   * @param packedBytes how many are read
   * @param to address in the scratchpad
   * @param bytes how many are written
   */
  record LoadPacked(int from, int packedBytes, int to, int bytes) implements Command {}

  /**
   * Scratchpad to DRAM.
   *
   * @param from address in the scratchpad
   * @param to address among the tensors
   */
  record Store(int from, int to, Copy copy) implements Command {
    public Store(int from, int to, Block source, int toRow, int toPlane) {
      this(from, to, Copy.of(source, toRow, toPlane));
    }
  }

  /** A block of the scratchpad set to one byte. */
  record Fill(int to, Block target, int value) implements Command {}

  /**
   * Windows that move over an input in the scratchpad, [row, column, channel].
   *
   * @param flags of the command
   * @param input address of the first window's first cell
   * @param inputRow distance of two rows of the input
   * @param inputPixel distance of two pixels of the input
   * @param channels side by side in a pixel
   * @param kernel size of the window
   * @param dilation distance of two cells of a window
   * @param stride distance of two windows
   * @param output number of windows
   */
  record Window(
      int flags,
      int input,
      int inputRow,
      int inputPixel,
      int channels,
      Size kernel,
      Size dilation,
      Size stride,
      Size output) {
    /** Returns whether a flag is set. */
    public boolean has(int flag) {
      return (flags & flag) != 0;
    }

    /** Bytes of an element. */
    public int elementSize() {
      return has(FLOAT16) ? 2 : 1;
    }
  }

  /** An extent along the height and along the width. */
  record Size(int height, int width) {
    /** Their product. */
    public long area() {
      return (long) height * width;
    }
  }

  /**
   * A product of the windows' cells, [pixel, cell], and weights, [cell, column]. Weights stand in
   * blocks of as many columns as the array has; in a block [cell, column]. Accumulators stand
   * [column, pixel].
   *
   * @param window over the input
   * @param columns of the product: output channels
   * @param weights address
   * @param accumulators address
   * @param inputZero subtracted from each input
   * @param weightZero subtracted from each weight
   */
  record MatMul(
      Window window, int columns, int weights, int accumulators, int inputZero, int weightZero)
      implements Command {}

  /**
   * Each channel's windows with weights of its own, [cell, channel, multiple]. Accumulators stand
   * [pixel, channel, multiple].
   *
   * @param multiplier output channels of an input channel
   */
  record Depthwise(
      Window window, int multiplier, int weights, int accumulators, int inputZero, int weightZero)
      implements Command {}

  /**
   * Stored results from accumulators. For 8-bit types the table has three words for each channel:
   * bias, factor, shift; for float16 one, the bias as a float32, and {@code min} and {@code max}
   * are the bits of float32 numbers.
   *
   * @param accumulators address
   * @param pixelStride distance of two pixels' accumulators
   * @param channelStride distance of two channels' accumulators
   * @param table address
   * @param to address of the results, [pixel, channel]
   * @param toPixel distance of two pixels
   * @param zero added to each result
   */
  record Requantize(
      int flags,
      int accumulators,
      int pixelStride,
      int channelStride,
      int pixels,
      int channels,
      int table,
      int to,
      int toPixel,
      int zero,
      int min,
      int max)
      implements Command {}

  /**
   * One result for each window and channel; results stand [row, column, channel], densely.
   *
   * @param window whose input is the address of the input's first cell
   * @param input cells of the input
   * @param top rows by which the first window begins above the input
   * @param left columns by which it begins left of the input
   */
  record Pool(Window window, Size input, int top, int left, int to, int min, int max)
      implements Command {}

  /**
   * Two tensors of [row, column], each read with strides of its own; results stand densely. For
   * 8-bit sums both are multiplied by their factor after the left shift, and the sum by {@code
   * factor}; for products there is only the latter.
   *
   * @param aRow distance of two rows of the first tensor
   * @param aStep distance of two of its columns
   */
  record Elementwise(
      int flags,
      int a,
      int b,
      int to,
      int rows,
      int run,
      int aRow,
      int aStep,
      int bRow,
      int bStep,
      int aZero,
      int bZero,
      int leftShift,
      Factor aFactor,
      Factor bFactor,
      Factor factor,
      int zero,
      int min,
      int max)
      implements Command {}

  /** A real factor: {@code mantissa * 2^(shift - 31)}. */
  record Factor(int mantissa, int shift) {
    /** The factor that stands for none. */
    public static final Factor NONE = new Factor(0, 0);
  }

  /** Bytes replaced by those at their place, counted from 0, in a table of 256. */
  record Lookup(int from, int to, int count, int table) implements Command {}

  /**
   * Rows of scores to rows of probabilities.
   *
   * @param table 256 words: by how much a score is below the row's largest, its exponential as a
   *     fixed-point number without integer bits
   * @param zero the stored value of probability 0
   */
  record Softmax(int flags, int from, int to, int rows, int depth, int table, int zero)
      implements Command {}
}
