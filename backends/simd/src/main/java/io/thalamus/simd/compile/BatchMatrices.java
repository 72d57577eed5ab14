// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.MatrixRun;
import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Accumulation;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.MatrixMultiply.Parameters;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.extension.MatrixMultiply.Matrix;
import io.thalamus.operations.extension.MatrixMultiply.Pair;
import io.thalamus.operations.extension.MatrixMultiply.Products;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.simd.kernel.Clamp;
import io.thalamus.simd.kernel.Lanes;
import io.thalamus.simd.kernel.PackedMatrix;
import io.thalamus.simd.kernel.Product;
import io.thalamus.simd.kernel.Rows;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Frame;
import io.thalamus.simd.program.Scratch;
import io.thalamus.simd.program.Step;
import io.thalamus.simd.program.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Products of matrices that both are computed, as in attention, which some files have as layers:
 * each tile packs the columns of the second matrix that it multiplies with, so that none waits for
 * another.
 */
public final class BatchMatrices {
  private BatchMatrices() {}

  /** Adds the operation to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table
        .add(
            ThalamusExtension.BATCH_MATMUL,
            BatchMatrices::isPossible,
            (node, tensors, budget) ->
                floats(node.operation().parameters(Products.class), null, node, tensors, budget),
            TENSOR_FLOAT32)
        .add(
            OperationCode.FULLY_CONNECTED,
            BatchMatrices::isComputed,
            new Lowering.Clamped(
                BatchMatrices::dense,
                operation -> operation.parameters(Parameters.class).activation()),
            TENSOR_FLOAT32)
        .add(
            ThalamusExtension.BATCH_MATMUL,
            BatchMatrices::isPossible,
            BatchMatrices::integers,
            TENSOR_INT32)
        .add(
            ThalamusExtension.BATCH_MATMUL,
            BatchMatrices::isPossible,
            BatchMatrices::integers,
            ElementTypes.quantized8());
  }

  private static boolean isPossible(OperationView operation) {
    return isFilled(operation.input(0)) && isFilled(operation.input(1)) && operation.hasValues(2);
  }

  /** Returns true if the shapes of a layer are known; weights and bias may be computed. */
  private static boolean isComputed(OperationView operation) {
    return isFilled(operation.input(0))
        && operation.input(1).isShapeKnown()
        && operation.input(2).isShapeKnown()
        && Convolution.Weighted.isClampPossible(operation, 3);
  }

  private static Step dense(Node node, Tensors tensors, Budget budget) {
    Parameters parameters = node.operation().parameters(Parameters.class);
    int depth = parameters.inputSize();
    Pair pair = new Pair(new Matrix(0, depth, 1), new Matrix(0, 1, depth));
    Products products =
        new Products(
            parameters.batches(), depth, parameters.units(), List.of(pair), Optional.empty());
    return floats(products, tensors.input(node, 2), node, tensors, budget);
  }

  /**
   * The step of products of floats.
   *
   * @param bias of each column, or null
   */
  private static Step floats(
      Products products, Tensor bias, Node node, Tensors tensors, Budget budget) {
    Clamp clamp = Clamp.of(node.activation());
    return new Floats(Blocks.of(products, node, tensors, budget), bias, clamp, budget);
  }

  private static Step integers(Node node, Tensors tensors, Budget budget) {
    Products products = node.operation().parameters(Products.class);
    if (products.quantized().isEmpty() && products.columns() < Lanes.COUNT) {
      return new Dots(
          products, tensors.input(node, 0), tensors.input(node, 1), tensors.output(node), budget);
    }
    return new Integers(Blocks.of(products, node, tensors, budget), budget);
  }

  private static boolean isFilled(OperandView input) {
    return input.isShapeKnown() && input.shape().elementCount() > 0;
  }

  /** A product over consecutive rows, in blocks. */
  private record Block(MatrixRun run, Grid grid, int tile) {}

  /**
   * The blocks of all products.
   *
   * @param rowStride elements from one row of a first matrix to the next
   * @param columnStride elements from one column of a first matrix to the next
   */
  private record Blocks(
      Products products,
      Tensor first,
      Tensor second,
      Tensor output,
      int rowStride,
      int columnStride,
      List<Block> blocks) {
    static Blocks of(Products products, Node node, Tensors tensors, Budget budget) {
      int widest =
          Math.max(1, Budget.CACHED_FLOATS / Math.max(1, products.inner()) / PackedMatrix.WIDE)
              * PackedMatrix.WIDE;
      List<Block> blocks = new ArrayList<>();
      for (MatrixRun run : MatrixRun.of(products)) {
        int rows = run.count() * products.rows();
        Grid grid = Grid.of(rows, products.columns(), products.inner(), budget).withColumns(widest);
        for (int tile = 0; tile < grid.tiles(); tile++) {
          blocks.add(new Block(run, grid, tile));
        }
      }
      Matrix first = products.pairs().isEmpty() ? null : products.pairs().get(0).first();
      return new Blocks(
          products,
          tensors.input(node, 0),
          tensors.input(node, 1),
          tensors.output(node),
          first == null ? 0 : (int) first.rowStride(),
          first == null ? 0 : (int) first.columnStride(),
          blocks);
    }

    int tiles(Budget budget) {
      return budget.tiles(output.size() * (long) products.inner());
    }

    int blockColumns() {
      return blocks.stream().mapToInt(block -> block.grid().blockColumns()).max().orElse(0);
    }

    int leftFloats() {
      return blocks.stream().mapToInt(block -> block.grid().leftFloats()).max().orElse(0);
    }

    /** Returns where a row of the first matrices of a run begins. */
    int leftAt(MatrixRun run, int row) {
      int matrix = products.rows() * products.inner();
      return first.offset()
          + (int) run.firstOffset()
          + row / products.rows() * matrix
          + row % products.rows() * rowStride;
    }

    /** Returns where a column of the second matrix of a run begins. */
    int rightAt(MatrixRun run, int column) {
      Matrix matrix = run.second();
      return second.offset() + (int) (matrix.offset() + column * matrix.columnStride());
    }

    /** Returns where a result stands. */
    int resultAt(MatrixRun run, int row, int column) {
      return output.offset() + (run.begin() * products.rows() + row) * products.columns() + column;
    }
  }

  /** Products of floats. */
  private static final class Floats extends UnitStep {
    private final Blocks blocks;

    /** Null where there is none. */
    private final Tensor bias;

    private final Clamp clamp;

    Floats(Blocks blocks, Tensor bias, Clamp clamp, Budget budget) {
      super(blocks.blocks().size(), blocks.tiles(budget));
      this.blocks = blocks;
      this.bias = bias;
      this.clamp = clamp;
    }

    @Override
    public int scratchFloats() {
      return blocks.leftFloats();
    }

    @Override
    public int scratchPacked() {
      return PackedMatrix.floats(blocks.products().inner(), blocks.blockColumns());
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      for (int i = first; i < end; i++) {
        if (frame.isOver(scratch)) {
          return;
        }
        multiply(frame, scratch, blocks.blocks().get(i));
      }
    }

    private void multiply(Frame frame, Scratch scratch, Block block) {
      MatrixRun run = block.run();
      Grid grid = block.grid();
      int firstRow = grid.firstRow(block.tile());
      int firstColumn = grid.firstColumn(block.tile());
      int columns = grid.endColumn(block.tile()) - firstColumn;
      int depth = blocks.products().inner();
      int distance = blocks.products().columns();
      Rows rows = scratch.rows;
      Product product = scratch.product(depth, columns);
      product.pack(
          rows,
          frame.floats(blocks.second()),
          blocks.rightAt(run, firstColumn),
          (int) run.second().rowStride(),
          (int) run.second().columnStride());
      float[] out = frame.floats(blocks.output());
      int to = blocks.resultAt(run, firstRow, firstColumn);
      rows.areScalar = frame.isScalar;
      rows.count = grid.endRow(block.tile()) - firstRow;
      rows.left(scratch.floats, Lanes.LEAD);
      rows.result(out, to, distance);
      if (bias == null) {
        rows.addNothing();
      } else {
        rows.added(frame.floats(bias), bias.offset() + firstColumn, 0);
      }
      int from = 0;
      do {
        int end = Math.min(depth, from + Rows.LONGEST);
        copy(frame, run, firstRow, rows.count, from, end - from, scratch.floats);
        Clamp last = end == depth ? clamp : Clamp.NONE;
        if (!Grid.multiply(frame, scratch, product, from, end, 0, columns, last)) {
          return;
        }
        rows.added(out, to, distance);
        from = end;
      } while (from < depth);
    }

    private void copy(
        Frame frame, MatrixRun run, int firstRow, int count, int from, int length, float[] to) {
      float[] in = frame.floats(blocks.first());
      int step = blocks.columnStride();
      for (int i = 0; i < count; i++) {
        int at = blocks.leftAt(run, firstRow + i) + from * step;
        int target = Lanes.LEAD + i * Rows.DISTANCE;
        if (step == 1) {
          System.arraycopy(in, at, to, target, length);
        } else {
          for (int k = 0; k < length; k++) {
            to[target + k] = in[at + k * step];
          }
        }
      }
    }
  }

  /**
   * Products of integers of 32 bits with fewer columns than a vector has elements: each result is a
   * sum along both matrices where they stand.
   */
  private static final class Dots extends UnitStep {
    /** Multiply-adds until it looks again whether the execution is over. */
    private static final int LONGEST = 1 << 14;

    private final Products products;
    private final Tensor first;
    private final Tensor second;
    private final Tensor output;

    /** By pair, where the matrices begin. */
    private final int[] firstAt;

    private final int[] secondAt;

    /** From one row to the next of the first matrices. */
    private final int rowStride;

    /** From one column to the next of the second matrices. */
    private final int columnStride;

    /** From one factor of a sum to the next. */
    private final int firstStep;

    private final int secondStep;

    Dots(Products products, Tensor first, Tensor second, Tensor output, Budget budget) {
      super(
          products.pairs().size() * products.rows(),
          budget.tiles(output.size() * (long) products.inner()));
      this.products = products;
      this.first = first;
      this.second = second;
      this.output = output;
      List<Pair> pairs = products.pairs();
      firstAt = pairs.stream().mapToInt(pair -> (int) pair.first().offset()).toArray();
      secondAt = pairs.stream().mapToInt(pair -> (int) pair.second().offset()).toArray();
      // The matrices of an operand differ in nothing but their place.
      Pair pair = pairs.getFirst();
      rowStride = (int) pair.first().rowStride();
      firstStep = (int) pair.first().columnStride();
      columnStride = (int) pair.second().columnStride();
      secondStep = (int) pair.second().rowStride();
    }

    /** Computes rows of results, which stand one after the other. */
    @Override
    void run(Frame frame, Scratch scratch, int begin, int end) {
      int[] a = frame.ints(first);
      int[] b = frame.ints(second);
      int[] out = frame.ints(output);
      long work = Math.max(1, (long) products.inner() * products.columns());
      int rows = (int) Math.max(1, LONGEST / work);
      for (int row = begin; row < end; row += rows) {
        if (frame.isOver(scratch)) {
          return;
        }
        multiply(a, b, out, row, Math.min(end, row + rows));
      }
    }

    private void multiply(int[] a, int[] b, int[] out, int begin, int end) {
      int rows = products.rows();
      int depth = products.inner();
      int columns = products.columns();
      int to = output.offset() + begin * columns;
      for (int row = begin; row < end; row++) {
        int pair = row / rows;
        int left = first.offset() + firstAt[pair] + row % rows * rowStride;
        int right = second.offset() + secondAt[pair];
        for (int column = 0; column < columns; column++) {
          out[to + column] =
              firstStep == 1 && secondStep == 1
                  ? sum(a, left, b, right, depth)
                  : sum(a, left, firstStep, b, right, secondStep, depth);
          right += columnStride;
        }
        to += columns;
      }
    }

    /** The JVM makes vectors of this loop. */
    private static int sum(int[] a, int left, int[] b, int right, int depth) {
      int sum = 0;
      for (int i = 0; i < depth; i++) {
        sum += a[left + i] * b[right + i];
      }
      return sum;
    }

    private static int sum(
        int[] a, int left, int leftStep, int[] b, int right, int rightStep, int depth) {
      int sum = 0;
      for (int i = 0; i < depth; i++) {
        sum += a[left + i * leftStep] * b[right + i * rightStep];
      }
      return sum;
    }
  }

  /** Products of integers, which keep their low bits: of 32 bits, or stored bytes. */
  private static final class Integers extends UnitStep {
    private final Blocks blocks;
    private final Accumulation accumulation;
    private final int firstZeroPoint;
    private final int secondZeroPoint;

    Integers(Blocks blocks, Budget budget) {
      super(blocks.blocks().size(), blocks.tiles(budget));
      this.blocks = blocks;
      accumulation = blocks.products().quantized().orElse(null);
      firstZeroPoint = accumulation == null ? 0 : blocks.first().signedZeroPoint();
      secondZeroPoint = accumulation == null ? 0 : blocks.second().signedZeroPoint();
    }

    /** The columns of the second matrix, and the sums of a row. */
    @Override
    public int scratchInts() {
      return (blocks.products().inner() + 1) * blocks.blockColumns();
    }

    @Override
    void run(Frame frame, Scratch scratch, int first, int end) {
      for (int i = first; i < end; i++) {
        multiply(frame, scratch, blocks.blocks().get(i));
      }
    }

    private void multiply(Frame frame, Scratch scratch, Block block) {
      MatrixRun run = block.run();
      Grid grid = block.grid();
      int firstColumn = grid.firstColumn(block.tile());
      int columns = grid.endColumn(block.tile()) - firstColumn;
      int depth = blocks.products().inner();
      int[] ints = scratch.ints;
      int sums = depth * columns;
      Object right = frame.array(blocks.second());
      int step = (int) run.second().columnStride();
      for (int k = 0; k < depth; k++) {
        int at = blocks.rightAt(run, firstColumn) + k * (int) run.second().rowStride();
        widen(right, at, step, blocks.second().flip(), secondZeroPoint, ints, k * columns, columns);
      }
      for (int row = grid.firstRow(block.tile()); row < grid.endRow(block.tile()); row++) {
        if (frame.isOver(scratch)) {
          return;
        }
        sum(frame, blocks.leftAt(run, row), ints, depth, columns);
        store(frame, ints, sums, blocks.resultAt(run, row, firstColumn), columns);
      }
    }

    private static void widen(
        Object in, int at, int step, int flip, int zeroPoint, int[] out, int to, int count) {
      if (in instanceof int[] ints) {
        for (int i = 0; i < count; i++) {
          out[to + i] = ints[at + i * step];
        }
      } else {
        byte[] bytes = (byte[]) in;
        for (int i = 0; i < count; i++) {
          out[to + i] = (byte) (bytes[at + i * step] ^ flip) - zeroPoint;
        }
      }
    }

    private void sum(Frame frame, int left, int[] ints, int depth, int columns) {
      Object in = frame.array(blocks.first());
      int sums = depth * columns;
      for (int i = 0; i < columns; i++) {
        ints[sums + i] = 0;
      }
      for (int k = 0; k < depth; k++) {
        int at = left + k * blocks.columnStride();
        int x =
            in instanceof int[] numbers
                ? numbers[at]
                : (byte) (((byte[]) in)[at] ^ blocks.first().flip()) - firstZeroPoint;
        add(x, ints, k * columns, sums, columns);
      }
    }

    private static void add(int x, int[] ints, int from, int sums, int count) {
      for (int i = 0; i < count; i++) {
        ints[sums + i] += x * ints[from + i];
      }
    }

    private void store(Frame frame, int[] ints, int sums, int to, int columns) {
      if (accumulation == null) {
        System.arraycopy(ints, sums, frame.ints(blocks.output()), to, columns);
        return;
      }
      byte[] out = frame.bytes(blocks.output());
      for (int i = 0; i < columns; i++) {
        out[to + i] = (byte) accumulation.stored(ints[sums + i], 0);
      }
    }
  }
}
